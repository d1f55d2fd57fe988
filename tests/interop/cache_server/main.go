// cache_server - OpenConfig's cache and Subscribe server (github.com/openconfig/gnmi/cache, /subscribe) on an address, fed with one
// counter of one port that grows by 10 each 100 ms. The server is theirs; this only gives it an address, certificates and a value.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"github.com/openconfig/gnmi/cache"
	pb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/subscribe"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

const target = "leaf1"

// server answers Subscribe; what it lacks (Capabilities, Get) is answered with UNIMPLEMENTED by the generated code.
type server struct {
	pb.UnimplementedGNMIServer
	*subscribe.Server
}

func (s server) Subscribe(stream pb.GNMI_SubscribeServer) error { return s.Server.Subscribe(stream) }

func counter(n uint64) *pb.Notification {
	elem := []*pb.PathElem{{Name: "interfaces"}, {Name: "interface", Key: map[string]string{"name": "Ethernet1"}}, {Name: "state"},
		{Name: "counters"}, {Name: "in-octets"}}
	return &pb.Notification{Timestamp: time.Now().UnixNano(), Prefix: &pb.Path{Target: target}, Update: []*pb.Update{
		{Path: &pb.Path{Elem: elem}, Val: &pb.TypedValue{Value: &pb.TypedValue_UintVal{UintVal: n}}}}}
}

func options(cert, key, ca string) []grpc.ServerOption {
	if cert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		log.Fatal(err)
	}
	t := &tls.Config{Certificates: []tls.Certificate{pair}}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			log.Fatal(err)
		}
		t.ClientCAs, t.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		t.ClientCAs.AppendCertsFromPEM(pem)
	}
	return []grpc.ServerOption{grpc.Creds(credentials.NewTLS(t))}
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	cert, key, ca := flag.String("cert", "", "file"), flag.String("key", "", "file"), flag.String("ca", "", "file: clients need a certificate")
	flag.Parse()
	c := cache.New([]string{target})
	s, err := subscribe.NewServer(c)
	if err != nil {
		log.Fatal(err)
	}
	c.SetClient(s.Update)
	if err := c.GnmiUpdate(counter(1234567890123)); err != nil {
		log.Fatal(err)
	}
	c.Connect(target)
	c.Sync(target)
	go func() {
		for n := uint64(1234567890133); ; n += 10 {
			time.Sleep(100 * time.Millisecond)
			if err := c.GnmiUpdate(counter(n)); err != nil {
				log.Print(err)
			}
		}
	}()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	g := grpc.NewServer(options(*cert, *key, *ca)...)
	pb.RegisterGNMIServer(g, server{Server: s})
	fmt.Println("listening on", l.Addr().(*net.TCPAddr).Port)
	log.Fatal(g.Serve(l))
}
