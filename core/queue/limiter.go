package queue

// concurrencyLimiter limits concurrent runs at one receiver, by additive increase and multiplicative decrease (AIMD).
// A hanging receiver thus uses little of the shared capacity, and regains its limit within a few responses. A receiver
// that rejects at once keeps its limit.
type concurrencyLimiter struct {
	now int // at least 1
	max int
}

// record adjusts the limit after a run. A response adds one, and a missing response halves the limit.
func (l *concurrencyLimiter) record(responded bool) {
	if responded {
		l.now = min(l.now+1, l.max)
	} else {
		l.now = max(l.now/2, 1)
	}
}
