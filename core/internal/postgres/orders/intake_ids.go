package orders

import (
	"context"
	"fmt"
	"sync"

	"github.com/uptrace/bun"
)

// orderIDBlock is the number of ids per value of the sequence order_id_blocks.
const orderIDBlock = 128

// orderIDs hands out order ids from blocks. The rest of a block is lost when the process ends.
type orderIDs struct {
	mu   sync.Mutex
	free []int64
}

// take returns n ids in ascending order.
func (o *orderIDs) take(ctx context.Context, tx bun.Conn, n int) ([]int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if missing := n - len(o.free); missing > 0 {
		var blocks []int64
		if err := tx.NewRaw(`SELECT nextval('order_id_blocks') FROM generate_series(1, ?)`,
			(missing+orderIDBlock-1)/orderIDBlock).Scan(ctx, &blocks); err != nil {
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
