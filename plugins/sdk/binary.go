package sdk

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// BinaryOf returns the manifest entry of a program in the same directory. A script runs on every system.
func BinaryOf(path string) (Binary, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Binary{}, err
	}
	digest, err := Digest(strings.NewReader(string(text)))
	binary := Binary{OS: runtime.GOOS, Arch: runtime.GOARCH, Path: filepath.Base(path), SHA256: digest}
	if strings.HasPrefix(string(text), "#!") {
		binary.OS, binary.Arch = AnySystem, AnySystem
	}
	return binary, err
}

// ReadInstalled reads the manifest in a directory, and verifies the program for this system.
func ReadInstalled(dir string) (*Manifest, Binary, error) {
	manifest, err := ReadManifest(filepath.Join(dir, ManifestName))
	if err != nil {
		return nil, Binary{}, err
	}
	binary, err := manifest.Binary(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return nil, Binary{}, err
	}
	return manifest, binary, binary.VerifyIn(dir)
}

// VerifyIn checks the digest of the program in a directory.
func (b Binary) VerifyIn(dir string) error {
	file, err := os.Open(filepath.Join(dir, b.Path))
	if err != nil {
		return err
	}
	return errors.Join(b.Verify(file), file.Close())
}
