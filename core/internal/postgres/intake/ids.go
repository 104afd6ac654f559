package intake

import (
	"context"
	"fmt"
	"slices"
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

// take returns n ids in ascending order. It reads new blocks if the free ids are too few.
func (o *orderIDs) take(ctx context.Context, in bun.IDB, n int) ([]int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if missing := n - len(o.free); missing > 0 {
		var blocks []int64
		if err := in.NewRaw(`SELECT nextval('order_id_blocks') FROM generate_series(1, ?)`,
			(missing+orderIDBlock-1)/orderIDBlock).Scan(ctx, &blocks); err != nil {
			return nil, fmt.Errorf("reserving ids of orders: %w", err)
		}
		for _, first := range blocks {
			o.addBlock(first)
		}
	}
	taken := o.free[:n:n]
	o.free = o.free[n:]
	return taken, nil
}

// missing is how many blocks the next orders need. A statement that stores orders reads them as well.
func (o *orderIDs) missing() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.free) < orderIDBlock/2 {
		return 1
	}
	return 0
}

// add adds a block.
func (o *orderIDs) add(first int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.addBlock(first)
}

// addBlock keeps the free ids in order: concurrent batches may add their blocks in another one.
func (o *orderIDs) addBlock(first int64) {
	block := make([]int64, orderIDBlock)
	for n := range block {
		block[n] = first + int64(n)
	}
	at, _ := slices.BinarySearch(o.free, first)
	o.free = slices.Insert(o.free, at, block...)
}
