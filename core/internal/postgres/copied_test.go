package postgres

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// copiedWhole is what rows are visited when a COPY comes in pieces of a size.
func copiedWhole(data []byte, size int) (rows []string, ended bool, err error) {
	reader := copiedRows{visit: func(row copiedRow) {
		line := ""
		for i := range row {
			line += row.text(i) + "|"
		}
		rows = append(rows, line)
	}}
	for piece := range slices.Chunk(data, size) {
		if _, err = reader.Write(piece); err != nil {
			break
		}
	}
	return rows, reader.ended, err
}

// copied is a binary COPY of rows of text; "-" is null.
func copied(rows ...[]string) []byte {
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

func TestCopiedRowsComeWhole(t *testing.T) {
	data := copied([]string{"tea", "-", ""}, nil, []string{"a longer column than the others"})
	for size := 1; size <= len(data); size++ {
		rows, ended, err := copiedWhole(data, size)
		require.NoError(t, err)
		require.True(t, ended)
		require.Equal(t, []string{"tea|||", "", "a longer column than the others|"}, rows)
	}
	_, ended, err := copiedWhole(data[:len(data)-3], 7)
	require.NoError(t, err)
	require.False(t, ended, "it broke off")
	_, _, err = copiedWhole([]byte("not what COPY sends, but long enough"), 5)
	require.ErrorIs(t, err, errCopyForm)
}

func TestCopiedColumnsAreOfTheTypeThatIsAskedFor(t *testing.T) {
	row := copiedRow{{0xff, 0xfe}, {0, 0, 1, 0}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {1}, nil, []byte("tea")}
	require.Equal(t, []int64{-2, 256, -1, 0, 0}, []int64{row.int(0), row.int(1), row.int(2), row.int(4), row.int(5)})
	require.Equal(t, []bool{true, false, false}, []bool{row.bool(3), row.bool(4), row.bool(5)})
	require.Equal(t, "tea", row.text(5))
}

func FuzzCopiedRows(f *testing.F) {
	f.Add(copied([]string{"tea", "-"}, []string{"cake", "1"}), 3)
	f.Add(copied(), 1)
	f.Add(copied([]string{"tea"})[:30], 100)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		want, ended, failure := copiedWhole(data, max(1, len(data)))
		got, alsoEnded, err := copiedWhole(data, 1+int(uint(size)%64))
		require.Equal(t, failure, err)
		require.Equal(t, want, got)
		require.Equal(t, ended, alsoEnded)
	})
}
