package inbound

// The result of OpenFiles on systems without a limit, and its maximum.
const (
	minOpenFiles = 1024
	maxOpenFiles = 1 << 20
)
