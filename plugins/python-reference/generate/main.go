// Generate writes the protocol's messages into plugin.py, which must be a single file, and the digest of that file
// into plugin.yaml. Run it in the directory of both.
package main

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"os"
	"regexp"

	"github.com/servery-hub/servery/plugins/sdk"
)

const width = 116 // of a line

func main() {
	if err := generate("plugin.py", sdk.ManifestName, "../proto/descriptor.binpb"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(program, manifest, messages string) error {
	descriptor, err := os.ReadFile(messages)
	if err != nil {
		return err
	}
	text, err := compress(descriptor)
	if err != nil {
		return err
	}
	if err := replace(program, regexp.MustCompile(`(?s)DESCRIPTOR = """.*?"""`),
		fmt.Sprintf("DESCRIPTOR = \"\"\"\n%s\"\"\"", text)); err != nil {
		return err
	}
	written, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	digest, err := sdk.Digest(bytes.NewReader(written))
	if err != nil {
		return err
	}
	return replace(manifest, regexp.MustCompile(`sha256: \w+`), "sha256: "+digest)
}

// compress returns bytes compressed with zlib, as lines of base64.
func compress(plain []byte) (string, error) {
	var small bytes.Buffer
	writer, err := zlib.NewWriterLevel(&small, zlib.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := writer.Write(plain); err != nil {
		return "", err
	}
	if err := writer.Close(); err != nil {
		return "", err
	}
	var lines bytes.Buffer
	for text := base64.StdEncoding.EncodeToString(small.Bytes()); text != ""; {
		size := min(width, len(text))
		lines.WriteString(text[:size] + "\n")
		text = text[size:]
	}
	return lines.String(), nil
}

// replace replaces the only match of a pattern in a file.
func replace(file string, old *regexp.Regexp, text string) error {
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := len(old.FindAll(before, -1)); n != 1 {
		return fmt.Errorf("%s: %d times %s instead of once", file, n, old)
	}
	after := old.ReplaceAllLiteral(before, []byte(text))
	if bytes.Equal(before, after) {
		return nil
	}
	return os.WriteFile(file, after, 0o600) // an existing file keeps its mode
}
