package postgres

import (
	"context"
	"fmt"
	"sync"

	"github.com/uptrace/bun"
)

// orderIDBlock is how many ids one value of the sequence order_id_blocks stands for.
const orderIDBlock = 128

// orderIDs hands out ids of orders from blocks of them. What is left of a block
// when the process ends is never used.
type orderIDs struct {
	mu   sync.Mutex
	free []int64
}

// take takes n ids, the smallest first.
func (o *orderIDs) take(ctx context.Context, tx bun.Conn, n int) ([]int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if missing := n - len(o.free); missing > 0 {
		var blocks []int64
		if err := tx.NewRaw(`SELECT nextval('order_id_blocks') FROM generate_series(1, ?)`, (missing+orderIDBlock-1)/orderIDBlock).Scan(ctx, &blocks); err != nil {
			return nil, fmt.Errorf("reserving ids of orders: %w", err)
		}
		for _, first := range blocks {
			for id := first; id < first+orderIDBlock; id++ {
				o.free = append(o.free, id)
			}
		}
	}
	taken := o.free[:n:n]
	o.free = o.free[n:]
	return taken, nil
}
