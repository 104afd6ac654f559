package core

// Places is how much may be under way at once at a receiver that others stand
// beside: from few it gets one more for each time that it answers, and loses
// half each time that it does not. One that hangs so holds little of what all share,
// and has its places back within a few answers; one that fails soon keeps them.
type Places struct {
	Now  int // at least 1
	Most int
}

// Ended notes whether the receiver answered.
func (p *Places) Ended(answered bool) {
	if answered {
		p.Now = min(p.Now+1, p.Most)
	} else {
		p.Now = max(p.Now/2, 1)
	}
}

// Busy are those for whom nothing is to be claimed now.
type Busy struct {
	Endpoints []int64
	Plugins   []string // of platforms, whatever the business
}
