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

// CopyRow is a row in the binary format of COPY, which needs no escaping (PostgreSQL
// manual, COPY, Binary Format). A column of an unexpected type reads as zero.
type CopyRow [][]byte

// Int returns an integer column.
func (r CopyRow) Int(i int) int64 {
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

// Bool returns a boolean column.
func (r CopyRow) Bool(i int) bool { return len(r[i]) == 1 && r[i][0] != 0 }

// Text returns a text column.
func (r CopyRow) Text(i int) string { return string(r[i]) }

// Formatter formats arguments into statements for which the driver has no placeholders.
var Formatter = schema.NewQueryGen(pgdialect.New())

// CopyOut calls visit for each row of a query as it arrives. The row is valid only during the call.
func CopyOut(ctx context.Context, conn bun.Conn, query string, args []any, visit func(row CopyRow)) error {
	rows := copyParser{visit: visit}
	if _, err := pgdriver.CopyTo(ctx, conn, &rows,
		"COPY ("+Formatter.FormatQuery(query, args...)+") TO STDOUT (FORMAT binary)"); err != nil {
		return discardBrokenCopy(conn, err)
	}
	if !rows.trailerRead {
		return errCopyFormat
	}
	return nil
}

// copyHeader is the fixed part of the header of a binary COPY. The length of an extension
// area follows it; the format defines no extension yet.
const copyHeader = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00"

var errCopyFormat = errors.New("COPY returned invalid binary data")

// copyParser parses a binary COPY that arrives in pieces of any size.
type copyParser struct {
	visit       func(row CopyRow)
	partial     []byte // received bytes of an incomplete header or row
	headerRead  bool   // the header has been read
	trailerRead bool   // the trailer has been read
	row         CopyRow
}

// Write parses the next piece, which is usually one row.
func (r *copyParser) Write(piece []byte) (int, error) {
	data := piece
	if len(r.partial) > 0 {
		r.partial = append(r.partial, piece...)
		data = r.partial
	}
	if !r.headerRead {
		if len(data) < len(copyHeader)+4 {
			r.partial = append(r.partial[:0], data...)
			return len(piece), nil
		}
		rest, found := bytes.CutPrefix(data, []byte(copyHeader))
		if !found {
			return 0, errCopyFormat
		}
		data, r.headerRead = rest[4:], true
	}
	for !r.trailerRead {
		rest, complete := r.next(data)
		if !complete {
			break
		}
		if data = rest; !r.trailerRead {
			r.visit(r.row)
		}
	}
	r.partial = append(r.partial[:0], data...)
	return len(piece), nil
}

// next parses a row or the trailer, and reports whether data holds it completely.
func (r *copyParser) next(data []byte) (rest []byte, complete bool) {
	if len(data) < 2 {
		return nil, false
	}
	columns := int16(binary.BigEndian.Uint16(data))
	if data = data[2:]; columns < 0 {
		r.trailerRead = true
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
