package inbound

// What OpenFiles says where a system does not, and at most.
const (
	leastFiles = 1024
	mostFiles  = 1 << 20
)
