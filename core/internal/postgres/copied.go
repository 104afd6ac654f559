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

func (r copiedRow) bool(i int) bool    { return len(r[i]) == 1 && r[i][0] != 0 }
func (r copiedRow) text(i int) string  { return string(r[i]) }
func (r copiedRow) bytes(i int) []byte { return r[i] }

// formatter writes arguments into statements for which the driver has no
// placeholders.
var formatter = schema.NewQueryGen(pgdialect.New())

// copyOut reads the rows that a query yields. The columns are the visitor's to
// keep.
func copyOut(ctx context.Context, conn bun.Conn, query string, args []any, visit func(row copiedRow) error) error {
	var out bytes.Buffer
	if _, err := pgdriver.CopyTo(ctx, conn, &out, "COPY ("+formatter.FormatQuery(query, args...)+") TO STDOUT (FORMAT binary)"); err != nil {
		var answer pgdriver.Error
		if !errors.As(err, &answer) { // broken off in the middle: what the server still sends belongs to no later query
			discard(conn)
		}
		return err
	}
	return eachRow(out.Bytes(), visit)
}

// copyHeader is the fixed part of the header of a binary COPY, which is always
// followed by the length of an extension that nobody has defined yet.
const copyHeader = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00"

var errCopyForm = errors.New("what COPY sent is not in its binary format")

// eachRow takes a binary COPY apart.
func eachRow(data []byte, visit func(row copiedRow) error) error {
	data, found := bytes.CutPrefix(data, []byte(copyHeader))
	if !found || len(data) < 4 {
		return errCopyForm
	}
	data = data[4:]
	for row := (copiedRow{}); len(data) >= 2; {
		columns := int16(binary.BigEndian.Uint16(data))
		if data = data[2:]; columns < 0 { // the trailer
			return nil
		}
		row = row[:0]
		for range columns {
			if len(data) < 4 {
				return errCopyForm
			}
			length := int32(binary.BigEndian.Uint32(data))
			if data = data[4:]; length < 0 { // null
				row = append(row, nil)
				continue
			}
			if int(length) > len(data) {
				return errCopyForm
			}
			row, data = append(row, data[:length:length]), data[length:]
		}
		if err := visit(row); err != nil {
			return err
		}
	}
	return errCopyForm
}
