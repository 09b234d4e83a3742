import { expect } from 'chai';
import { isShown } from './output.ts';

describe('isShown', () => {
  it('compares text exactly, except for spaces in tables', () => {
    expect(isShown('a.b\n', 'a.b\n', '')).to.equal(true);
    expect(isShown('a.b', 'axb', '')).to.equal(false);
    expect(isShown('a', 'a\nb', '')).to.equal(false);
    expect(isShown('NAME  AGE', 'NAME     AGE   ', '')).to.equal(true);
  });

  it('accepts any characters for an ellipsis within a line, and any lines for an ellipsis alone on a line', () => {
    expect(isShown('{…"a":1…}', '{"b":2,"a":1}', '')).to.equal(true);
    expect(isShown('{…"a":1}', '{"b":2,\n"a":1}', '')).to.equal(false);
    expect(isShown('a\n…\nd', 'a\nb\nc\nd', '')).to.equal(true);
    expect(isShown('a\n…\nd', 'a\nb\nc', '')).to.equal(false);
  });

  it('accepts output whose uids, times, revisions and ages differ from those in the book', () => {
    const shown = '{"uid":"0f1c7d6e-8f0a-4a55-9d0b-3f0d4d1f6c11","resourceVersion":"1","at":"2030-01-01T00:00:00Z"}';
    const printed =
      '{"uid":"1f1c7d6e-8f0a-4a55-9d0b-3f0d4d1f6c12","resourceVersion":"27","at":"2031-01-01T00:00:00.5Z"}';
    for (const language of ['', 'json']) expect(isShown(shown, printed, language)).to.equal(true);
    expect(isShown('ada    12s', 'ada    3s', '')).to.equal(true);
  });

  it('accepts JSON with the same values, with other spaces and another order of keys', () => {
    expect(isShown('{ "a": 1, "b": [1, 2] }', '{"b":[1,2],"a":1}', 'json')).to.equal(true);
    expect(isShown('{ "a": 1 }', '{"a":1,"b":2}', 'json')).to.equal(false);
    expect(isShown('{ "a": 1, "b": 2 }', '{"a":1}', 'json')).to.equal(false);
    expect(isShown('[1]', '[1,2]', 'json')).to.equal(false);
    expect(isShown('{ "a": 1 }', 'refused', 'json')).to.equal(false);
  });

  it('accepts any JSON value for an ellipsis, and any further items for an ellipsis at the end of a list', () => {
    expect(isShown('{ "a": "…" }', '{"a":{"b":1}}', 'json')).to.equal(true);
    expect(isShown('[1, "…"]', '[1,2,3]', 'json')).to.equal(true);
    expect(isShown('[1, 2, "…"]', '[1]', 'json')).to.equal(false);
    expect(isShown('{ "a": "…" }', '{"b":1}', 'json')).to.equal(false);
  });
});
