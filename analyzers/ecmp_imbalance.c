/* ecmp_imbalance */
