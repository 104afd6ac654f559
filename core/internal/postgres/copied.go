package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/driver/pgdriver"
	"github.com/uptrace/bun/schema"
)

// copiedRow is a row in the binary format of COPY (PostgreSQL manual, COPY,
// Binary Format): nothing to escape, neither there nor here. A column that is not
// of the type asked for is a mistake of the query, and reads as zero.
type copiedRow [][]byte

func (r copiedRow) int(i int) int64 {
	switch column := r[i]; len(column) {
	case 2:
		return int64(int16(binary.BigEndian.Uint16(column)))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(column)))
	case 8:
		return int64(binary.BigEndian.Uint64(column))
	default:
		return 0
	}
}

func (r copiedRow) bool(i int) bool   { return len(r[i]) == 1 && r[i][0] != 0 }
func (r copiedRow) text(i int) string { return string(r[i]) }

// formatter writes arguments into statements for which the driver has no
// placeholders.
var formatter = schema.NewQueryGen(pgdialect.New())

// copyOut has the rows that a query yields visited as they come. A row is there
// only during the visit.
func copyOut(ctx context.Context, conn bun.Conn, query string, args []any, visit func(row copiedRow)) error {
	rows := copiedRows{visit: visit}
	if _, err := pgdriver.CopyTo(ctx, conn, &rows, "COPY ("+formatter.FormatQuery(query, args...)+") TO STDOUT (FORMAT binary)"); err != nil {
		return copyEnded(conn, err)
	}
	if !rows.ended {
		return errCopyForm
	}
	return nil
}

// copyHeader is the fixed part of the header of a binary COPY, which is always
// followed by the length of an extension that nobody has defined yet.
const copyHeader = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00"

var errCopyForm = errors.New("what COPY sent is not in its binary format")

// copiedRows takes a binary COPY apart, in whichever pieces it comes.
type copiedRows struct {
	visit func(row copiedRow)
	part  []byte // what has come of the header or of a row that is not whole
	begun bool   // the header is past
	ended bool   // the trailer has come
	row   copiedRow
}

// Write takes what comes next, which as a rule is one row.
func (r *copiedRows) Write(piece []byte) (int, error) {
	data := piece
	if len(r.part) > 0 {
		r.part = append(r.part, piece...)
		data = r.part
	}
	if !r.begun {
		if len(data) < len(copyHeader)+4 {
			r.part = append(r.part[:0], data...)
			return len(piece), nil
		}
		rest, found := bytes.CutPrefix(data, []byte(copyHeader))
		if !found {
			return 0, errCopyForm
		}
		data, r.begun = rest[4:], true
	}
	for !r.ended {
		rest, whole := r.next(data)
		if !whole {
			break
		}
		if data = rest; !r.ended {
			r.visit(r.row)
		}
	}
	r.part = append(r.part[:0], data...)
	return len(piece), nil
}

// next takes a row, or the trailer, from the data, if it is there as a whole.
func (r *copiedRows) next(data []byte) (rest []byte, whole bool) {
	if len(data) < 2 {
		return nil, false
	}
	columns := int16(binary.BigEndian.Uint16(data))
	if data = data[2:]; columns < 0 {
		r.ended = true
		return nil, true
	}
	r.row = r.row[:0]
	for range columns {
		if len(data) < 4 {
			return nil, false
		}
		length := int(int32(binary.BigEndian.Uint32(data)))
		if data = data[4:]; length < 0 { // null
			r.row = append(r.row, nil)
			continue
		}
		if length > len(data) {
			return nil, false
		}
		r.row, data = append(r.row, data[:length:length]), data[length:]
	}
	return data, true
}
