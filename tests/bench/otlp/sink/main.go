// sink - takes what the Collector forwards (OTLP/gRPC on 44317, remote write on 44318) and forgets it.
package main

import (
	"io"
	"net"
	"net/http"

	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

type raw struct{}

func (raw) Marshal(v any) (mem.BufferSlice, error)      { return mem.BufferSlice{}, nil }
func (raw) Unmarshal(data mem.BufferSlice, v any) error { data.Free(); return nil }
func (raw) Name() string                                { return "proto" }

func main() {
	_ = pmetricotlp.NewExportRequest
	encoding.RegisterCodecV2(raw{})
	l, _ := net.Listen("tcp", "127.0.0.1:44317")
	s := grpc.NewServer(grpc.MaxRecvMsgSize(64<<20), grpc.UnknownServiceHandler(func(srv any, st grpc.ServerStream) error {
		var x []byte
		if err := st.RecvMsg(&x); err != nil {
			return err
		}
		return st.SendMsg(&x)
	}))
	go s.Serve(l)
	http.ListenAndServe("127.0.0.1:44318", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
}
