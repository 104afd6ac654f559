package postgres

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// parseInChunks returns the rows visited when a COPY arrives in pieces of the given size.
func parseInChunks(data []byte, size int) (rows []string, ended bool, err error) {
	reader := copyParser{visit: func(row CopyRow) {
		line := ""
		for i := range row {
			line += row.Text(i) + "|"
		}
		rows = append(rows, line)
	}}
	for piece := range slices.Chunk(data, size) {
		if _, err = reader.Write(piece); err != nil {
			break
		}
	}
	return rows, reader.trailerRead, err
}

// encodeCopy returns a binary COPY of text rows; "-" is null.
func encodeCopy(rows ...[]string) []byte {
	data := append([]byte(copyHeader), 0, 0, 0, 0)
	for _, row := range rows {
		data = binary.BigEndian.AppendUint16(data, uint16(len(row)))
		for _, column := range row {
			if column == "-" {
				data = append(data, 0xff, 0xff, 0xff, 0xff)
				continue
			}
			data = append(binary.BigEndian.AppendUint32(data, uint32(len(column))), column...)
		}
	}
	return append(data, 0xff, 0xff)
}

func TestCopyReaderDecodesRowsOfAnyChunkSize(t *testing.T) {
	data := encodeCopy([]string{"tea", "-", ""}, nil, []string{"a longer column than the others"})
	for size := 1; size <= len(data); size++ {
		rows, ended, err := parseInChunks(data, size)
		require.NoError(t, err)
		require.True(t, ended)
		require.Equal(t, []string{"tea|||", "", "a longer column than the others|"}, rows)
	}
	_, ended, err := parseInChunks(data[:len(data)-3], 7)
	require.NoError(t, err)
	require.False(t, ended, "it broke off")
	_, _, err = parseInChunks([]byte("not a COPY header, but long enough"), 5)
	require.ErrorIs(t, err, errCopyFormat)
}

func TestCopyReaderConvertsColumnTypes(t *testing.T) {
	row := CopyRow{{0xff, 0xfe}, {0, 0, 1, 0}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {1}, nil,
		[]byte("tea")}
	require.Equal(t, []int64{-2, 256, -1, 0, 0}, []int64{row.Int(0), row.Int(1), row.Int(2), row.Int(4), row.Int(5)})
	require.Equal(t, []bool{true, false, false}, []bool{row.Bool(3), row.Bool(4), row.Bool(5)})
	require.Equal(t, "tea", row.Text(5))
}

func FuzzCopyReader(f *testing.F) {
	f.Add(encodeCopy([]string{"tea", "-"}, []string{"cake", "1"}), 3)
	f.Add(encodeCopy(), 1)
	f.Add(encodeCopy([]string{"tea"})[:30], 100)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		want, ended, failure := parseInChunks(data, max(1, len(data)))
		got, alsoEnded, err := parseInChunks(data, 1+int(uint(size)%64))
		require.Equal(t, failure, err)
		require.Equal(t, want, got)
		require.Equal(t, ended, alsoEnded)
	})
}
