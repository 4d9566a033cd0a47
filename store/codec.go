package store

import (
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"agentaudit/audit/report"
)

// The encodings of packed documents, as kept in the columns enc. A number that
// was ever written is kept for ever, and its dictionary with it.
const (
	encPlain = 0
	encZstd1 = 1
	encZstd2 = 2
)

// dictionary1 is one telling report with its evidence: a new one shares most
// of its text with it and shrinks to an eighth, twice as well as without.
//
//go:embed dictionaries/1.txt
var dictionary1 []byte

// dictionary2 adds what came later, reports of agents.txt and of scans and fix
// kits, each once: what they share with others is most of them.
//
//go:embed dictionaries/2.txt
var dictionary2 []byte

// maxDocuments bounds what one body may unpack to: far more than any audit
// leaves, and little enough for a damaged file not to take the memory.
const maxDocuments = 64 << 20

// codec packs and unpacks documents; it is safe for concurrent use.
type codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func newCodec() (*codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderDictRaw(encZstd2, dictionary2),
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128<<10), zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(encZstd1, dictionary1), zstd.WithDecoderDictRaw(encZstd2, dictionary2),
		zstd.WithDecoderMaxMemory(maxDocuments), zstd.WithDecoderConcurrency(2))
	if err != nil {
		return nil, err
	}
	return &codec{enc, dec}, nil
}

func (c *codec) close() {
	c.enc.Close()
	c.dec.Close()
}

// pack joins the parts, each behind its length, and compresses the whole.
func (c *codec) pack(parts ...[]byte) (enc int64, body []byte) {
	var plain []byte
	for _, p := range parts {
		plain = binary.AppendUvarint(plain, uint64(len(p)))
		plain = append(plain, p...)
	}
	return encZstd2, c.enc.EncodeAll(plain, nil)
}

var errDamaged = errors.New("the stored documents are damaged")

// unpack undoes pack; it wants least to most parts, and those that an older
// program did not write are nil.
func (c *codec) unpack(enc int64, body []byte, least, most int) ([][]byte, error) {
	plain := body
	switch enc {
	case encPlain:
	case encZstd1, encZstd2:
		var err error
		if plain, err = c.dec.DecodeAll(body, nil); err != nil {
			return nil, fmt.Errorf("%w: %w", errDamaged, err)
		}
	default:
		return nil, fmt.Errorf("%w: encoding %d is unknown to this version", ErrSchema, enc)
	}
	parts := make([][]byte, most)
	for i := range parts {
		if i >= least && len(plain) == 0 {
			break
		}
		size, k := binary.Uvarint(plain)
		if k <= 0 || size > uint64(len(plain)-k) {
			return nil, errDamaged
		}
		if size > 0 {
			parts[i] = plain[k : k+int(size) : k+int(size)]
		}
		plain = plain[k+int(size):]
	}
	if len(plain) > 0 {
		return nil, errDamaged
	}
	return parts, nil
}

// packed is a body ready for its row.
type packed struct {
	enc  int64
	body []byte
}

func (c *codec) packResult(r *report.Result) (packed, error) {
	rep, err := json.Marshal(r.Report)
	if err != nil {
		return packed{}, fmt.Errorf("encode the report: %w", err)
	}
	for _, part := range []json.RawMessage{r.Agents, r.Discovery, r.FixKit} {
		if len(part) > 0 && !json.Valid(part) {
			return packed{}, errors.New("encode the result: the agents report, discovery or fix kit is not JSON")
		}
	}
	evidence, err := json.Marshal(evidenceList(r.Evidence))
	if err != nil {
		return packed{}, fmt.Errorf("encode the evidence: %w", err)
	}
	enc, body := c.pack(rep, r.Agents, r.Discovery, evidence, r.FixKit)
	return packed{enc, body}, nil
}

func (c *codec) unpackParts(p packed) (*Parts, error) {
	parts, err := c.unpack(p.enc, p.body, 4, 5)
	if err != nil {
		return nil, err
	}
	return &Parts{parts[0], parts[1], parts[2], parts[3], parts[4]}, nil
}

// packKept keeps a whole result, with what stands beside its documents.
func (c *codec) packKept(r *report.Result) (packed, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return packed{}, fmt.Errorf("encode the result: %w", err)
	}
	enc, body := c.pack(b)
	return packed{enc, body}, nil
}

func (c *codec) unpackKept(p packed) (*report.Result, error) {
	parts, err := c.unpack(p.enc, p.body, 1, 1)
	if err != nil {
		return nil, err
	}
	r := new(report.Result)
	if err := json.Unmarshal(parts[0], r); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	for _, part := range []*json.RawMessage{&r.Agents, &r.Discovery, &r.FixKit} {
		if string(*part) == "null" { // what nil becomes
			*part = nil
		}
	}
	return r, nil
}

func evidenceList(e []report.Evidence) []report.Evidence {
	if e == nil {
		return []report.Evidence{}
	}
	return e
}
