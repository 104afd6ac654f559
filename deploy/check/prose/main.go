// Prose checks the words of the documentation against the list in rules.txt and
// the length of its sentences. It prints file:line:column, what it found and what
// to write instead, and exits with 1 where there is anything.
//
//	go run ./deploy/check/prose [-count] [ROOT [PREFIX...]]
//
// ROOT is the repository, by default the working directory. Only findings in
// files whose name begins with a PREFIX are shown.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	counted := flag.Bool("count", false, "print the number of findings of each file alone")
	flag.Parse()
	root := "."
	if flag.NArg() > 0 {
		root = flag.Arg(0)
	}
	rules, err := parseRules(listed)
	if err != nil {
		fail(err)
	}
	findings, err := lint(os.DirFS(root), sources, rules)
	if err != nil {
		fail(err)
	}
	var prefixes []string
	if flag.NArg() > 1 {
		prefixes = flag.Args()[1:]
	}
	findings = slices.DeleteFunc(findings, func(f Finding) bool {
		has := func(prefix string) bool { return strings.HasPrefix(f.File, prefix) }
		return len(prefixes) > 0 && !slices.ContainsFunc(prefixes, has)
	})
	print(findings, *counted)
	if len(findings) > 0 {
		os.Exit(1)
	}
}

// print writes the findings, or their number by file.
func print(findings []Finding, counted bool) {
	files := map[string]int{}
	for _, f := range findings {
		if files[f.File]++; !counted {
			fmt.Println(f)
		}
	}
	if counted {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Printf("%6d %s\n", files[name], name)
		}
	}
	if len(findings) > 0 {
		fmt.Printf("%d findings in %d files\n", len(findings), len(files))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "prose:", err)
	os.Exit(2)
}
