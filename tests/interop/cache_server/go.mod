module rocewatch.test/cache_server

go 1.23

require (
	github.com/openconfig/gnmi v0.14.1
	google.golang.org/grpc v1.69.2
)
