import { expect } from 'chai';
import { LineIndex } from './line-index.ts';
import { readYamlDocuments } from './yaml-documents.ts';
import type { LocatedYamlDocument } from './yaml-documents.ts';

const limits = { maxDepth: 64 };

function one(text: string): LocatedYamlDocument {
  const [document] = readYamlDocuments(text, limits);
  if (document === undefined || 'message' in document) throw new Error(`unreadable: ${JSON.stringify(document)}`);
  return document;
}

describe('readYamlDocuments', () => {
  const yaml = `# a comment
metadata:
  labels:
    a.b/c: x
    "quoted": y
spec:
  # another
  list:
    - a: 1
      b: |
        text
    - &x { c: 1 }
    - *x
    -
  flow: {
    a: 1, list: [1,
      2] }
  ? asked
  : v
  empty:
  a: 1
  a.b: 2
`;

  for (const [field, line] of [
    ['', 2],
    ['metadata.labels', 3],
    ['metadata.labels.a.b/c', 4],
    ['metadata.labels["a.b/c"]', 4],
    ['metadata.labels.quoted', 5],
    ['spec.list[0]', 9],
    ['spec.list[0].b', 10],
    ['spec.list[1].c', 12],
    ['spec.list[2].c', 13],
    ['spec.flow.list[1]', 17],
    ['spec.asked', 18],
    ['spec.empty', 20],
    ['spec.a.b', 22],
  ] as const) {
    it(`returns the line of the field "${field}"`, () => {
      expect(one(yaml).lineOf(field)).to.equal(line);
    });
  }

  for (const [field, line] of [
    ['spec.missing.deeper', 6],
    ['spec.list[9]', 8],
    ['spec.list[3]', 8],
    ['spec.lists', 6],
    ['spec.empty.x', 20],
    ['missing', 2],
  ] as const) {
    it(`returns for the absent field "${field}" the line of its nearest existing parent`, () => {
      expect(one(yaml).lineOf(field)).to.equal(line);
    });
  }

  it('counts lines over all documents, and counts CRLF as one line ending', () => {
    const read = readYamlDocuments('a: 1\r\n---\r\n# x\r\nb:\r\n  c: 2\r\n', limits) as readonly LocatedYamlDocument[];
    expect(read.map(({ document, line }) => [document, line])).to.deep.equal([
      [1, 1],
      [2, 4],
    ]);
    expect(read[1]?.lineOf('b.c')).to.equal(5);
  });

  it('reads each document separately, so that a mistake in one document does not hide a mistake in another', () => {
    const text = [
      '# nothing\n',
      'a: 1\n',
      'b: [\n',
      'c: 1\nc: 2\n',
      'd:\n  e: .inf\n',
      '',
      `f: ${'['.repeat(65)}${']'.repeat(65)}\n`,
      'g: 1\n',
    ];
    const read = readYamlDocuments(text.join('---\n'), limits).map((each) =>
      'message' in each ? each : { document: each.document, line: each.line, value: each.value },
    );
    expect(read).to.deep.equal([
      { document: 1, line: 3, value: { a: 1 } },
      { document: 2, line: 6, message: 'not valid YAML: deficient indentation, at column 1' },
      { document: 3, line: 8, message: 'not valid YAML: duplicated mapping key, at column 1' },
      { document: 4, line: 11, message: 'the field "d.e" has a number that JSON cannot represent' },
      { document: 6, line: 14, message: 'not valid YAML: nesting exceeded maxDepth (64), at column 67' },
      { document: 7, line: 16, value: { g: 1 } },
    ]);
  });

  it('names the position of a mistake in a malformed document', () => {
    expect(readYamlDocuments('---\n---\na: b: c\n', limits)).to.deep.equal([
      { document: 2, line: 3, message: 'not valid YAML: bad indentation of a mapping entry, at column 5' },
    ]);
  });

  it('returns no documents for an empty text', () => {
    for (const text of ['', '# a comment\n', '---\n---\n']) expect(readYamlDocuments(text, limits)).to.deep.equal([]);
  });
});

describe('LineIndex', () => {
  it('returns the line number of an offset, counted from the given number of the first line', () => {
    const lines = new LineIndex('ab\r\nc\rd\n\ne', 10);
    const expected = [10, 10, 10, 10, 11, 11, 12, 12, 13, 14];
    expect(expected.map((_, offset) => lines.lineAt(offset))).to.deep.equal(expected);
    expect(new LineIndex('').lineAt(5)).to.equal(1);
  });
});
