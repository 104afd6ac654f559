package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// processorTime is what this program, those that it has started, and the database have
// used of the processors: their ended children are included.
func (b *bench) processorTime() (time.Duration, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	used, parents := map[int]time.Duration{}, map[int]int{}
	ours := map[int]bool{os.Getpid(): true}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return 0, err
		}
		if used[pid], parents[pid], err = processorTimeOf(content); err != nil {
			return 0, err
		}
		line, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err == nil && bytes.Contains(line, []byte(b.scratch)) {
			ours[pid] = true // the database has no parent of ours
		}
	}
	var total time.Duration
	for pid, time := range used {
		for at := pid; at > 1; at = parents[at] {
			if ours[at] {
				total += time
				break
			}
		}
	}
	return total, nil
}

// processorTimeOf reads /proc/PID/stat: the time of a process and of its ended children.
func processorTimeOf(stat []byte) (used time.Duration, parent int, err error) {
	rest := string(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name may hold spaces
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return 0, 0, fmt.Errorf("the system does not tell a process's processor time: %q", stat)
	}
	if parent, err = strconv.Atoi(fields[1]); err != nil {
		return 0, 0, err
	}
	for _, field := range fields[11:15] {
		ticks, err := strconv.Atoi(field)
		if err != nil {
			return 0, 0, err
		}
		used += time.Duration(ticks) * clockTick
	}
	return used, parent, nil
}
