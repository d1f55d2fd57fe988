// send - sends a stream of OTLP metrics over gRPC as fast as the receiver takes it.
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// raw sends bytes that were encoded before, so that the sender costs little.
type raw struct{}

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*(v.(*[]byte)) = data.Materialize()
	return nil
}
func (raw) Name() string { return "proto" }

var names = []string{"nvswitch_interface_sp_rx_pause", "nvswitch_interface_sp_tx_pause", "nvswitch_interface_sp_rx_pause_duration", "nvswitch_interface_sp_tx_pause_duration"}
var tcs = []string{"nvswitch_interface_tc_tx_octet", "nvswitch_interface_tc_tx_frames", "nvswitch_interface_tc_tx_ecn_marked_tc", "nvswitch_interface_tc_tx_no_buffer_discard_uc", "nvswitch_interface_tc_tx_wred_discard"}
var plain = []string{"nvswitch_interface_if_in_octets", "nvswitch_interface_if_out_octets", "nvswitch_interface_if_in_errors", "nvswitch_interface_dot3_stats_fcs_errors", "nvswitch_interface_oper_state", "nvswitch_interface_mtu_bytes", "nvswitch_interface_carrier_changes_total", "nvswitch_interface_if_out_discards"}

func point(dps pmetric.NumberDataPointSlice, t time.Time, v float64, port string, key, num string) {
	dp := dps.AppendEmpty()
	dp.SetTimestamp(pcommon.NewTimestampFromTime(t))
	dp.SetDoubleValue(v)
	dp.Attributes().PutStr("interface", port)
	if key != "" {
		dp.Attributes().PutStr(key, num)
	}
}

func message(device string, ports int, t time.Time, round int) (pmetric.Metrics, int) {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("host.name", device)
	rm.Resource().Attributes().PutStr("service.name", "Telemetry Proxy")
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().SetName("nvswitch")
	n := 0
	each := func(list []string, key string, numbers int) {
		for _, name := range list {
			m := sm.Metrics().AppendEmpty()
			m.SetName(name)
			m.SetDescription("NVIDIA Ethernet Switch " + name)
			dps := m.SetEmptyGauge().DataPoints()
			for p := 1; p <= ports; p++ {
				for k := 0; k < numbers; k++ {
					point(dps, t, float64(round*1000+p), fmt.Sprintf("swp%d", p), key, fmt.Sprint(k))
					n++
				}
			}
		}
	}
	each(names, "sp", 8)
	each(tcs, "tc", 8)
	each(plain, "", 1)
	return md, n
}

func main() {
	to := flag.String("to", "127.0.0.1:4317", "")
	devices := flag.Int("devices", 4, "")
	ports := flag.Int("ports", 64, "")
	rounds := flag.Int("rounds", 50, "")
	step := flag.Duration("step", time.Second, "")
	flag.Parse()
	encoding.RegisterCodecV2(raw{})
	conn, err := grpc.NewClient(*to, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(64<<20)))
	if err != nil {
		panic(err)
	}
	var batch [][]byte
	points, bytes := 0, 0
	start := time.Now().Add(-time.Duration(*rounds) * *step)
	for r := 0; r < *rounds; r++ {
		for d := 0; d < *devices; d++ {
			md, n := message(fmt.Sprintf("leaf%d", d+1), *ports, start.Add(time.Duration(r)**step), r)
			b, _ := pmetricotlp.NewExportRequestFromMetrics(md).MarshalProto()
			batch = append(batch, b)
			points += n
			bytes += len(b)
		}
	}
	begin := time.Now()
	retries := 0
	for _, b := range batch {
		for {
			var reply []byte
			err := conn.Invoke(context.Background(), "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", b, &reply)
			if err == nil {
				break
			}
			retries++
			if retries > 100000 {
				panic(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	fmt.Printf("sent %d points, %d bytes, %d messages in %.2f s, %d retries\n", points, bytes, len(batch), time.Since(begin).Seconds(), retries)
}
