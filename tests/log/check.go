// The log as the client of Go's own checksum database sees it: its code for signed notes, tiles and
// proofs is used as it is. Only what is particular to that database is done here: the first line of a
// checkpoint, and the addresses of tiles.
//
//	check BASE VERIFIER_KEY FOLDER
//
// BASE serves a log, FOLDER holds its checkpoints at several sizes. Every proof between them must hold,
// and no longer when one byte of what is served is changed.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const height = 8

// cosigned has the number of signatures by witnesses that a checkpoint of a size carries.
var cosigned = map[int64]int{}

// reader reads tiles over HTTP. It changes a byte of the one that is called spoilt.
type reader struct {
	base    string
	cache   map[string][]byte
	spoilt  string
	at      int
	spoiled int
}

func address(t tlog.Tile) string {
	path := strings.TrimPrefix(t.Path(), fmt.Sprintf("tile/%d/", height))
	if rest, isData := cut(path, "data/"); isData {
		return "entries/" + rest
	}
	return path
}

func cut(s, prefix string) (string, bool) {
	return strings.TrimPrefix(s, prefix), strings.HasPrefix(s, prefix)
}

func (r *reader) read(path string) ([]byte, error) {
	data, known := r.cache[path]
	if !known {
		answer, err := http.Get(r.base + "/log/tile/" + path)
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		data, err = io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != 200 {
			return nil, fmt.Errorf("%s: %s %v", path, answer.Status, err)
		}
		r.cache[path] = data
	}
	if path != r.spoilt {
		return data, nil
	}
	r.spoiled++
	data = append([]byte(nil), data...)
	data[r.at%len(data)] ^= 1
	return data, nil
}

func (r *reader) Height() int { return height }

func (r *reader) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, t := range tiles {
		data, err := r.read(address(t))
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}

func (r *reader) SaveTiles([]tlog.Tile, [][]byte) {}

// open reads a checkpoint, whose first line is not that of the checksum database.
func open(text []byte, verifier note.Verifier, origin string) (tlog.Tree, error) {
	signed, err := note.Open(text, note.VerifierList(verifier))
	if err != nil {
		return tlog.Tree{}, err
	}
	lines := strings.Split(signed.Text, "\n")
	if len(lines) != 4 || lines[0] != origin {
		return tlog.Tree{}, fmt.Errorf("not a checkpoint: %q", signed.Text)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return tlog.Tree{}, err
	}
	hash, err := tlog.ParseHash(lines[2])
	if others := len(signed.UnverifiedSigs); others > 0 && err == nil {
		cosigned[size] = others
	}
	return tlog.Tree{N: size, Hash: hash}, err
}

// bundle checks that the entries of a bundle are those of the tree.
func bundle(tree tlog.Tree, number int64, r *reader) error {
	first, last := number*256, (number+1)*256
	if last > tree.N {
		last = tree.N
	}
	data, err := r.read(address(tlog.Tile{H: height, L: -1, N: number, W: int(last - first)}))
	if err != nil {
		return err
	}
	hashes := tlog.TileHashReader(tree, r)
	var indexes []int64
	for id := first; id < last; id++ {
		indexes = append(indexes, tlog.StoredHashIndex(0, id))
	}
	stored, err := hashes.ReadHashes(indexes)
	if err != nil {
		return err
	}
	for id := first; id < last; id++ {
		if len(data) < 2 || len(data) < 2+int(binary.BigEndian.Uint16(data)) {
			return fmt.Errorf("entry %d is cut off", id)
		}
		length := 2 + int(binary.BigEndian.Uint16(data))
		hash := tlog.RecordHash(data[2:length])
		data = data[length:]
		if stored[id-first] != hash {
			return fmt.Errorf("entry %d is another one", id)
		}
		if id != first && id != last-1 && id%37 != 0 {
			continue
		}
		proof, err := tlog.ProveRecord(tree.N, id, hashes)
		if err != nil {
			return err
		}
		if err := tlog.CheckRecord(proof, tree.N, tree.Hash, id, hash); err != nil {
			return err
		}
	}
	if len(data) > 0 {
		return fmt.Errorf("bundle %d is too long", number)
	}
	return nil
}

// audit checks a tree's beginning, a part in its middle, and its end.
func audit(tree tlog.Tree, r *reader) error {
	for _, number := range []int64{0, tree.N / 512, (tree.N - 1) / 256} {
		if err := bundle(tree, number, r); err != nil {
			return err
		}
	}
	return nil
}

func consistent(old, tree tlog.Tree, r *reader) error {
	proof, err := tlog.ProveTree(tree.N, old.N, tlog.TileHashReader(tree, r))
	if err != nil {
		return err
	}
	return tlog.CheckTree(proof, tree.N, tree.Hash, old.N, old.Hash)
}

func must(err error, what ...interface{}) {
	if err != nil {
		fmt.Fprintln(os.Stderr, append(what, err)...)
		os.Exit(1)
	}
}

func main() {
	base, folder := os.Args[1], os.Args[3]
	verifier, err := note.NewVerifier(os.Args[2])
	must(err, "key")
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	must(err)
	var trees []tlog.Tree
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(err)
		tree, err := open(text, verifier, verifier.Name())
		must(err, file)
		trees = append(trees, tree)
		// Who else has signed below the log is for others to know.
		end := bytes.Index(text, []byte("\n\n")) + 2
		end += bytes.IndexByte(text[end:], '\n') + 1
		for at := range text[:end] {
			changed := append([]byte(nil), text...)
			changed[at] ^= 1
			other, err := open(changed, verifier, verifier.Name())
			// The last bits of the signature's last letter mean nothing: nothing has changed.
			if err == nil && !(other == tree && at == end-3) {
				must(fmt.Errorf("byte %d of %s may be changed", at, file))
			}
		}
	}
	sort.Slice(trees, func(a, b int) bool { return trees[a].N < trees[b].N })
	r := &reader{base: base, cache: map[string][]byte{}}
	for at, tree := range trees {
		if tree.N == 0 {
			if empty := sha256.Sum256(nil); tree.Hash != empty {
				must(fmt.Errorf("the empty tree has the hash %s", base64.StdEncoding.EncodeToString(tree.Hash[:])))
			}
			continue
		}
		must(audit(tree, r), "size", tree.N)
		for _, old := range trees[:at] {
			if old.N > 0 {
				must(consistent(old, tree, r), "from", old.N, "to", tree.N)
			}
		}
		fmt.Println("size", tree.N, "cosigned", cosigned[tree.N])
	}
	last := trees[len(trees)-1]
	spoil(last, r)
	// Another tree's hash proves nothing.
	last.Hash[7] ^= 1
	if audit(last, r) == nil {
		must(fmt.Errorf("a tree with another hash was believed"))
	}
}

// spoil changes a byte of every part in turn; each must be noticed.
func spoil(tree tlog.Tree, r *reader) {
	number := (tree.N - 1) / 256
	var parts []string
	for level, n := 0, tree.N; n > 0; level, n = level+1, n/256 {
		if n >= 256 {
			parts = append(parts, address(tlog.Tile{H: height, L: level, N: 0, W: 256}))
		}
		if n%256 > 0 {
			parts = append(parts, address(tlog.Tile{H: height, L: level, N: n / 256, W: int(n % 256)}))
		}
	}
	parts = append(parts, "entries/000")
	parts = append(parts, address(tlog.Tile{H: height, L: -1, N: number, W: int(tree.N - number*256)}))
	for _, part := range parts {
		for _, at := range []int{0, 1, 31, 32, 40, 100, 1<<20 - 1, 1 << 20} {
			r.spoilt, r.at, r.spoiled = part, at, 0
			if audit(tree, r) == nil {
				must(fmt.Errorf("byte %d of %s may be changed", at, part))
			}
			if r.spoiled == 0 {
				must(fmt.Errorf("%s was not read", part))
			}
		}
		fmt.Println("spoilt", part)
	}
	r.spoilt = ""
}
