// make_messages - OTLP metrics as the OpenTelemetry Collector's own library encodes them, in protobuf and in JSON.
package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

var t0 = time.Unix(1732312800, 0)

func add(dps pmetric.NumberDataPointSlice, value any, labels map[string]any, order ...string) pmetric.NumberDataPoint {
	dp := dps.AppendEmpty()
	dp.SetTimestamp(pcommon.NewTimestampFromTime(t0))
	switch v := value.(type) {
	case float64:
		dp.SetDoubleValue(v)
	case int:
		dp.SetIntValue(int64(v))
	}
	for _, key := range order {
		switch v := labels[key].(type) {
		case string:
			dp.Attributes().PutStr(key, v)
		case int:
			dp.Attributes().PutInt(key, int64(v))
		case bool:
			dp.Attributes().PutBool(key, v)
		}
	}
	return dp
}

func scope(md pmetric.Metrics, attributes ...string) pmetric.MetricSlice {
	rm := md.ResourceMetrics().AppendEmpty()
	for i := 0; i < len(attributes); i += 2 {
		rm.Resource().Attributes().PutStr(attributes[i], attributes[i+1])
	}
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().SetName("test")
	sm.Scope().SetVersion("1")
	return sm.Metrics()
}

func gauge(ms pmetric.MetricSlice, name string) pmetric.NumberDataPointSlice {
	m := ms.AppendEmpty()
	m.SetName(name)
	m.SetDescription("NVIDIA Ethernet Switch")
	m.SetUnit("1")
	return m.SetEmptyGauge().DataPoints()
}

func cumulus() pmetric.Metrics {
	md := pmetric.NewMetrics()
	ms := scope(md, "host.name", "leaf1", "service.name", "Telemetry Proxy")
	for i, name := range []string{"nvswitch_interface_sp_rx_pause", "nvswitch_interface_sp_tx_pause", "nvswitch_interface_sp_rx_pause_duration", "nvswitch_interface_sp_tx_pause_duration", "nvswitch_interface_sp_rx_discard"} {
		dps := gauge(ms, name)
		for _, sp := range []string{"3", "4"} {
			add(dps, float64(1000*(i+1)+len(sp)), map[string]any{"interface": "swp1", "sp": sp, "site": "lab"}, "interface", "sp", "site")
		}
	}
	for i, name := range []string{"nvswitch_interface_tc_tx_octet", "nvswitch_interface_tc_tx_frames", "nvswitch_interface_tc_tx_ecn_marked_tc", "nvswitch_interface_tc_tx_no_buffer_discard_uc", "nvswitch_interface_tc_tx_wred_discard"} {
		dps := gauge(ms, name)
		add(dps, 4503599627370496.0+float64(i), map[string]any{"interface": "swp1s0", "tc": "3"}, "tc", "interface")
		add(dps, 12.0, map[string]any{"interface": "swp2", "tc": "12"}, "interface", "tc")
	}
	up := gauge(ms, "nvswitch_interface_oper_state")
	add(up, 1.0, map[string]any{"interface": "swp1"}, "interface")
	add(up, 2.0, map[string]any{"interface": "swp2"}, "interface")
	add(gauge(ms, "nvswitch_env_temp_current"), 41.5, map[string]any{"sensor": "ASIC"}, "sensor")
	m := ms.AppendEmpty()
	m.SetName("nvswitch_interface_if_in_octets")
	s := m.SetEmptySum()
	s.SetIsMonotonic(true)
	s.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	add(s.DataPoints(), 9000000000000000000, map[string]any{"interface": "swp1"}, "interface").SetStartTimestamp(pcommon.NewTimestampFromTime(t0.Add(-time.Hour)))
	gone := add(s.DataPoints(), 5, map[string]any{"interface": "swp9"}, "interface")
	gone.SetFlags(pmetric.DefaultDataPointFlags.WithNoRecordedValue(true))
	m = ms.AppendEmpty()
	m.SetName("nvswitch_interface_if_out_octets")
	s = m.SetEmptySum()
	s.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	add(s.DataPoints(), 7, map[string]any{"interface": "swp1"}, "interface")
	m = ms.AppendEmpty()
	m.SetName("nvswitch_histogram_interface_egress_buffer")
	h := m.SetEmptyHistogram().DataPoints().AppendEmpty()
	h.SetCount(3)
	h.BucketCounts().FromRaw([]uint64{1, 2})
	h.ExplicitBounds().FromRaw([]float64{863})
	h.Attributes().PutStr("interface", "swp1")
	h.Attributes().PutStr("tc", "0")
	m = ms.AppendEmpty()
	m.SetName("summary")
	m.SetEmptySummary().DataPoints().AppendEmpty().SetCount(1)
	return md
}

func sonic() pmetric.Metrics {
	md := pmetric.NewMetrics()
	ms := scope(md, "service.name", "countersyncd", "host.name", "LEAF1.example.com")
	for i, c := range []struct {
		t, s int
		o    string
	}{{1, 0, "Ethernet0"}, {1, 109, "Ethernet0"}, {1, 110, "Ethernet4"}, {1, 141, "Ethernet0"}, {21, 34, "Ethernet0|3"}, {21, 27, "Ethernet0|3"}, {26, 8, "Ethernet4|4"}, {24, 20, "egress_pool"}} {
		dps := gauge(ms, fmt.Sprintf("sai_counter_type_%d_stat_%d", c.t, c.s))
		add(dps, 100+i, map[string]any{"object_name": c.o, "sai_type_id": c.t, "sai_stat_id": c.s}, "object_name", "sai_type_id", "sai_stat_id")
	}
	other := scope(md, "host.name", "leaf9")
	add(gauge(other, "nvswitch_interface_mtu_bytes"), 9216.0, map[string]any{"interface": "swp1"}, "interface")
	return md
}

func main() {
	for name, md := range map[string]pmetric.Metrics{"cumulus": cumulus(), "sonic": sonic()} {
		request := pmetricotlp.NewExportRequestFromMetrics(md)
		b, _ := request.MarshalProto()
		j, _ := request.MarshalJSON()
		text := hex.EncodeToString(b)
		out := ""
		for len(text) > 140 {
			out += text[:140] + "\n"
			text = text[140:]
		}
		os.WriteFile(os.Args[1]+"/"+name+".hex", []byte(out+text+"\n"), 0o644)
		os.WriteFile(os.Args[1]+"/"+name+".json", append(j, '\n'), 0o644)
	}
}
