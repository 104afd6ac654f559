package main

import (
	"slices"
	"strings"
)

// File is a file of the repository.
type File struct {
	Name    string // relative to the repository root, with slashes
	Content string
}

// position is the line and the column of a byte offset, both counted from 1.
func (f *File) position(offset int) (line, column int) {
	before := f.Content[:offset]
	return strings.Count(before, "\n") + 1, len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
}

// Text is a piece of prose that knows the position of each of its bytes in the file.
// Markup is dropped from it, so the bytes need not be adjacent there.
type Text struct {
	file *File
	s    string
	at   []int // for each byte of s its offset in the file
}

// whole is the text of a whole file.
func whole(file *File) Text {
	return span(file, 0, len(file.Content))
}

// span is the text between two offsets of a file.
func span(file *File, from, to int) Text {
	t := Text{file: file, s: file.Content[from:to], at: make([]int, to-from)}
	for i := range t.at {
		t.at[i] = from + i
	}
	return t
}

func (t Text) cut(from, to int) Text { return Text{t.file, t.s[from:to], t.at[from:to]} }

// append adds another piece.
func (t Text) append(other Text) Text {
	return Text{other.file, t.s + other.s, append(slices.Clip(t.at), other.at...)}
}

// join adds another piece, separated by a space.
func (t Text) join(other Text) Text {
	if t.s == "" || other.s == "" {
		return Text{other.file, t.s + other.s, append(t.at, other.at...)}
	}
	at := append(append(t.at, other.at[0]), other.at...)
	return Text{other.file, t.s + " " + other.s, at}
}

// replace returns the words at the position of the text.
func (t Text) replace(words string) Text {
	at := make([]int, len(words))
	for i := range at {
		at[i] = t.at[0]
	}
	return Text{t.file, words, at}
}

func (t Text) trim() Text {
	from := len(t.s) - len(strings.TrimLeft(t.s, " \t\r"))
	to := len(strings.TrimRight(t.s, " \t\r"))
	return t.cut(min(from, to), to)
}

// lines splits the text at line ends.
func (t Text) lines() []Text {
	var list []Text
	for from := 0; from <= len(t.s); {
		to := strings.IndexByte(t.s[from:], '\n')
		if to < 0 {
			return append(list, t.cut(from, len(t.s)))
		}
		list = append(list, t.cut(from, from+to))
		from += to + 1
	}
	return list
}
