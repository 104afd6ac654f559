// Package assets embeds the stylesheet, the scripts, htmx and the icon of the pages. It serves each under a hash
// of its content, so that browsers cache it permanently.
package assets

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"
)

//go:embed css js htmx/*.js icon.svg
var files embed.FS

// asset is one file as served.
type asset struct {
	url, mediaType string
	body, gzipped  []byte
}

// bundle maps names to assets. Stylesheets are concatenated in path order: base, components, pages.
var bundle = sync.OnceValue(func() map[string]asset {
	return map[string]asset{
		"app.css": newAsset("app.css", "text/css; charset=utf-8", readFiles("css")),
		"app.js":  newAsset("app.js", "text/javascript; charset=utf-8", readFiles("js")),
		"htmx.js": newAsset("htmx.js", "text/javascript; charset=utf-8",
			append(readFiles("htmx/htmx.min.js"), readFiles("htmx/hx-sse.min.js")...)),
		"icon.svg": newAsset("icon.svg", "image/svg+xml", readFiles("icon.svg")),
	}
})

// readFiles concatenates the files below root, which may also be one file.
func readFiles(root string) []byte {
	var all bytes.Buffer
	err := fs.WalkDir(files, root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := files.ReadFile(path)
		all.Write(content)
		return err
	})
	if err != nil {
		panic(fmt.Sprintf("assets: the embedded %s: %v", root, err)) // cannot happen with embedded files
	}
	return all.Bytes()
}

func newAsset(name, media string, body []byte) asset {
	sum := sha256.Sum256(body)
	a := asset{url: "/assets/" + hex.EncodeToString(sum[:6]) + "/" + name, mediaType: media, body: body}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if _, err := w.Write(body); err == nil && w.Close() == nil {
		a.gzipped = packed.Bytes()
	}
	return a
}

// URL returns the URL path of an asset, or "" for an unknown name.
func URL(name string) string { return bundle()[name].url }

// Mount serves the assets below /assets/.
func Mount(router fiber.Router) {
	router.Get("/assets/:hash/:name", func(c *fiber.Ctx) error {
		a, known := bundle()[c.Params("name")]
		if !known {
			return fiber.ErrNotFound
		}
		c.Set(fiber.HeaderContentType, a.mediaType)
		c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
		c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
		c.Set(fiber.HeaderCacheControl, "no-cache") // a page of another version gets the current file
		if c.Path() == a.url {
			c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
		}
		if a.gzipped != nil && strings.Contains(c.Get(fiber.HeaderAcceptEncoding), "gzip") {
			c.Set(fiber.HeaderContentEncoding, "gzip")
			return c.Send(a.gzipped)
		}
		return c.Send(a.body)
	})
}
