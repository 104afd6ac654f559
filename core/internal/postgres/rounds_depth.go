package postgres

// depth is how many questions are in no round yet.
func (r *rounds[Q, A]) depth() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue)
}

// Waiting is how many orders wait in this replica to be stored.
func (i *Intake) Waiting() int { return i.rounds.depth() }

// Waiting is how many statuses and places of riders wait in this replica to be stored.
func (r *Riders) Waiting() (statuses, places int) { return r.statuses.depth(), r.places.depth() }
