package queue

// concurrencyLimiter limits concurrent runs at one receiver, by additive increase and multiplicative decrease (AIMD).
// A hanging receiver thus uses little of the shared capacity, and regains its limit within a few responses. A receiver
// that rejects at once keeps its limit.
type concurrencyLimiter struct {
	current int // at least 1
	max     int
}

// record adjusts the limit after a run. A response adds one, and a missing response halves the limit.
func (l *concurrencyLimiter) record(responded bool) {
	if responded {
		l.current = min(l.current+1, l.max)
	} else {
		l.current = max(l.current/2, 1)
	}
}
