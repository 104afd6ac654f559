package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/driver/pgdriver"
	"github.com/uptrace/bun/schema"
)

// copiedRow is a row in the text format of COPY, its columns unescaped; see
// copyRows for the other direction. A column that is not of the type asked for
// is a mistake of the query, and reads as zero. None may be null.
type copiedRow [][]byte

func (r copiedRow) int(i int) int64 {
	n, _ := strconv.ParseInt(string(r[i]), 10, 64)
	return n
}

func (r copiedRow) bool(i int) bool    { return len(r[i]) == 1 && r[i][0] == 't' }
func (r copiedRow) text(i int) string  { return string(r[i]) }
func (r copiedRow) bytes(i int) []byte { return r[i] }

// formatter writes arguments into statements for which the driver has no
// placeholders.
var formatter = schema.NewQueryGen(pgdialect.New())

// copyOut reads the rows that a query yields. The columns are the visitor's to
// keep.
func copyOut(ctx context.Context, conn bun.Conn, query string, args []any, visit func(row copiedRow) error) error {
	var out bytes.Buffer
	if _, err := pgdriver.CopyTo(ctx, conn, &out, "COPY ("+formatter.FormatQuery(query, args...)+") TO STDOUT"); err != nil {
		var answer pgdriver.Error
		if !errors.As(err, &answer) { // broken off in the middle: what the server still sends belongs to no later query
			discard(conn)
		}
		return err
	}
	row := copiedRow{}
	for rest := out.Bytes(); len(rest) > 0; {
		line, after, found := bytes.Cut(rest, []byte{'\n'})
		if !found {
			return fmt.Errorf("COPY ended in the middle of a row")
		}
		row, rest = row[:0], after
		for more := true; more; {
			var column []byte
			column, line, more = bytes.Cut(line, []byte{'\t'})
			row = append(row, unescaped(column))
		}
		if err := visit(row); err != nil {
			return err
		}
	}
	return nil
}

// escapes are the letters that stand for characters after a backslash in
// COPY's text format (PostgreSQL manual, COPY, Text Format).
var escapes = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// unescaped takes the backslashes out of a column, in place.
func unescaped(column []byte) []byte {
	at := bytes.IndexByte(column, '\\')
	if at < 0 {
		return column
	}
	to := column[:at]
	for i := at; i < len(column); i++ {
		c := column[i]
		if c == '\\' && i+1 < len(column) {
			i++
			c = column[i]
			if stands, is := escapes[c]; is {
				c = stands
			}
		}
		to = append(to, c)
	}
	return to
}
