package inbound

// What OpenFiles says where a system does not, and at most.
const (
	minOpenFiles = 1024
	maxOpenFiles = 1 << 20
)
