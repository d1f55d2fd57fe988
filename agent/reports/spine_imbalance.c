/* spine_imbalance */
