#!/usr/bin/env python3
"""make_cases FOLDER - texts as nccl-tests, NCCL, ethtool and sysfs print them (formats of NVIDIA/nccl-tests src/common.cu, NCCL 2.20 logs, ethtool 5.x and
Linux 6.x drivers mlx5 and bnxt), with figures that can be checked by hand: the rates stand in the calls below. After a change:
golden_hosts_update and golden_inputs_update."""
import os,random,sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import inputs
H='''# nThread 1 nGpus 8 minBytes 536870912 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
'''
def ranks(hosts,gpus=8):
    r=0;o=''
    for h in hosts:
        for g in range(gpus):
            o+=f"#  Rank {r:2} Group  0 Pid {4100+r} on {h:>10} device {g:2} [0x{0x18+g*8:02x}] NVIDIA H100 80GB HBM3\n"; r+=1
    return o
T='''#
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
'''
def table(peak,wrong=0):
    o=T
    for b in (536870912,1073741824,2147483648,4294967296,8589934592):
        bw=peak*(0.90 if b<2e9 else 0.97 if b<8e9 else 1)
        alg=bw/1.875
        o+=f"{b:12d} {b//4:13d}     float     sum      -1 {b/alg/1e3:8.1f} {alg:7.2f} {bw:7.2f}      {wrong} {b/alg/1e3:8.1f} {alg:7.2f} {bw*1.001:7.2f}      0\n"
    o+=f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}\n# Avg bus bandwidth    : {peak*0.95:g} \n#\n"
    return o
def w(path,text):
    with inputs.create(*('hosts/'+path).rsplit('/',1)) as f: f.write(text)
nodes={'node-001':470.1,'node-002':468.8,'node-003':471.5,'node-004':418.0,'node-005':469.2}
for n,p in nodes.items(): w(f'nccl_nodes/{n}.txt',H+ranks([n])+table(p))
w('nccl_nodes/command.txt','import nccl-tests node-001.txt node-002.txt node-003.txt node-004.txt node-005.txt\n')
# pairs, as pdsh keeps them, interleaved; node-003 holds both its pairs down, and the pair without it is fine
pairs=[('node-001','node-002',48.2),('node-003','node-004',31.0),('node-003','node-001',30.5),('node-004','node-002',47.9),('node-001','node-004',48.0)]
runs=[]
for i,(a,b,p) in enumerate(pairs):
    runs.append([f"launch-{i}: {l}" for l in (H+ranks([a,b],1)+table(p,3 if i==3 else 0)).splitlines()])
out=[]; random.seed(4)
while any(runs):
    r=random.choice([r for r in runs if r]); out.append(r.pop(0))
w('nccl_pdsh/all.txt','\n'.join(out)+'\n'); w('nccl_pdsh/command.txt','import nccl-tests all.txt --format json\n')
one=H+ranks(['node-001','node-002'])+table(388.2)
w('nccl_one_run/run.txt',''.join('[1,0]<stdout>:'+l+'\n' for l in one.splitlines())); w('nccl_one_run/command.txt','import nccl-tests run.txt\n')
def log(h,nics,gdr=True,used=None,kind='RoCE'):
    o=''
    using=' '.join(f'[{i}]{n}:1/{kind}' for i,n in enumerate(nics))
    for g in range(2):
        o+=f"{h}:{7000+g}:{7100+g} [{g}] NCCL INFO Bootstrap : Using eth0:10.0.0.{g+1}<0>\n{h}:{7000+g}:{7100+g} [{g}] NCCL INFO NET/IB : Using {using} [RO]; OOB eth0:10.0.0.{g+1}<0>\n{h}:{7000+g}:{7100+g} [{g}] NCCL INFO Using network IB\n"
    for i in (used if used is not None else range(len(nics))):
        o+=f"{h}:7000:7101 [0] NCCL INFO Channel {i:02}/0 : 0[0] -> 8[0] [send] via NET/IB/{i}{'/GDRDMA' if gdr else ''}\n"
    return o
four=['mlx5_0','mlx5_1','mlx5_2','mlx5_3']
w('nccl_log/job.log',log('node-001',four)+log('node-002',four[:3])+log('node-003',four,used=[0,1,2])+log('node-004',four,gdr=False)+"node-004:7000:7101 [0] NCCL WARN Call to ibv_modify_qp failed with error Connection timed out\n"+log('node-005.lab.example.com',four))
w('nccl_log/command.txt','import nccl-log job.log\n')
# no host has GPU Direct RDMA, so there is none to compare with, but NCCL says why; a far pair alone (node-002 shows no channels) is no fault
far="{0}:7000:7101 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 5000 / HCA 0 (distance 7 > 5)\n".format
w('nccl_log_far/job.log',far('node-001')+log('node-001',four[:1],gdr=False)+far('node-002')+log('node-002',four[:1],used=[]))
w('nccl_log_far/command.txt','import nccl-log job.log\n')
s="node-009:21:21 [0] NCCL INFO NET/IB : No device found.\nnode-009:21:21 [0] NCCL INFO NET/Socket : Using [0]eth0:10.4.2.17<0>\nnode-009:21:21 [0] NCCL INFO Using network Socket\nnode-010:21:21 [0] NCCL INFO NET/IB : Using [0]={[0] mlx5_6:1/RoCE, [1] mlx5_7:1/RoCE} [RO]; OOB net1:10.0.103.4<0>\nnode-010:21:21 [0] NCCL INFO Using network IBext_v11\nnode-011:9:9 [3] NCCL INFO comm 0x7f rank 3 nranks 8 - Init COMPLETE\n"
w('nccl_log_sockets/job.log',s); w('nccl_log_sockets/command.txt','import nccl-log job.log --format json\n')
def mlx5(t,extra=''):
    v={'rx_packets':9000000+t*1000,'rx_bytes_phy':10**12+t*5*10**9,'tx_bytes_phy':10**12+t*6*10**9,'rx_discards_phy':12,'rx_out_of_buffer':3+t//10,'rx_prio3_pause':100+40*t,'rx_prio3_pause_duration':5000+70000*t,
       'rx_prio3_pause_transition':50+20*t,'tx_prio3_pause':0,'tx_prio3_pause_duration':0,'outbound_pci_stalled_rd':0,'outbound_pci_stalled_rd_events':4+t//3,'rx_global_pause':0}
    return 'NIC statistics:\n'+''.join(f'     {k}: {x}\n' for k,x in v.items())+extra
w('ethtool_mlx5/before.txt','ens1f0np0:\n'+mlx5(0)+'ens1f1np1:\n'+mlx5(0)); w('ethtool_mlx5/after.txt','ens1f0np0:\n'+mlx5(60)+'ens1f1np1:\n'+mlx5(0).replace('rx_prio3_pause: 100','rx_prio3_pause: 7'))
w('ethtool_mlx5/command.txt','import ethtool before.txt after.txt --host node-047\n')
def bnxt(t):
    return 'NIC statistics:\n     [0]: rx_ucast_packets: 17\n     rx_pfc_ena_frames_pri3: %d\n     tx_pfc_ena_frames_pri3: %d\n     pfc_pri3_rx_duration_us: %d\n     pfc_pri3_tx_duration_us: %d\n     rx_pause_frames: 0\n     rx_total_discard_pkts: 0\n'%(10+t,200+9*t,1000+100*t,4000+5000*t)
w('ethtool_bnxt/two.txt',bnxt(0)+bnxt(30)); w('ethtool_bnxt/command.txt','import ethtool two.txt --nic ens2np0 --format csv\n')
w('ethtool_one/one.txt',mlx5(5)); w('ethtool_one/command.txt','import ethtool one.txt --nic ens1f0np0\n')
dac='''	Identifier                                : 0x11 (QSFP28)
	Extended identifier                       : 0x10
	Connector                                 : 0x23 (No separable connector)
	Transceiver type                          : 25G Ethernet: 25G Base-CR CA-N
	Length (SMF,km)                           : 0km
	Length (OM3 50um)                         : 0m
	Length (Copper or Active cable)           : 3m
	Transmitter technology                    : 0xa0 (Copper cable unequalized)
	Vendor name                               : Mellanox
'''
sr='''	Identifier                                : 0x11 (QSFP28)
	Connector                                 : 0x0c (MPO Parallel Optic)
	Length (OM3 50um)                         : 70m
	Length (Copper or Active cable)           : 50m
	Transmitter technology                    : 0x00 (850 nm VCSEL)
	Transmit avg optical power (Channel 1)    : 1.0250 mW / 0.11 dBm
	Transmit avg optical power (Channel 2)    : 0.9120 mW / -0.40 dBm
	Rcvr signal avg optical power(Channel 1)  : 0.8000 mW / -0.97 dBm
	Rcvr signal avg optical power(Channel 2)  : 0.0501 mW / -13.00 dBm
'''
w('ethtool_module/m.txt','== ens1f0np0 ==\n'+dac+'== ens1f1np1 ==\n'+sr); w('ethtool_module/command.txt','import ethtool m.txt --host node-001\n')
def hw(t,h):
    v={'np_cnp_sent':100+5*t,'rp_cnp_handled':0,'rp_cnp_ignored':30+8*t,'np_ecn_marked_roce_packets':9000+100*t,'packet_seq_err':2,'roce_adp_retrans':0,'lifespan':10}
    return ''.join(f'{h}: /sys/class/infiniband/mlx5_0/ports/1/hw_counters/{k}:{x}\n' for k,x in v.items())
w('hw_counters/hw.txt',hw(0,'node-047')+hw(60,'node-047')+'node-048: link mlx5_0/1 rx_write_requests 5 np_cnp_sent 70 rp_cnp_handled 55 rp_cnp_ignored 0 \n'); w('hw_counters/command.txt','import ethtool hw.txt\n')
w('hostile/h.txt','\x1b[2J\x1b]0;x\x07NIC statistics:\n     rx_prio9_pause: 1\n     rx_prio3_pause: 99999999999999999999999\n     rx_prio3_pause: -5\n     : 3\n     rx_out_of_buffer: 18446744073709551615\n'+'A'*9000+'\n     rx_prio3_pause: 0x10\n     rx_prio2_pause: 4 5\nname\u202egnp.exe:\nNIC statistics:\n     =cmd: 1\n\x00\n')
w('hostile/command.txt','import ethtool h.txt --format json\n')
