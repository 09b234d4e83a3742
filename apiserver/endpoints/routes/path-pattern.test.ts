import { expect } from 'chai';
import { checkVariables, formatPattern, matchesPattern, parsePattern, splitPath, variablesOf } from './path-pattern.ts';

const match = (pattern: string, path: string): Readonly<Record<string, string>> | undefined => {
  const segments = splitPath(path) ?? [];
  const parsed = parsePattern(pattern);
  return segments.length === parsed.length && matchesPattern(parsed, segments, 0)
    ? variablesOf(parsed, segments, 0)
    : undefined;
};

describe('a path pattern', () => {
  it('matches one segment per variable, and decodes the segment once', () => {
    expect(match('/persons/:name/greeting', '/persons/ann/greeting')).to.deep.equal({ name: 'ann' });
    expect(match('/persons/:name', '/persons/a%2Fb%2520c')).to.deep.equal({ name: 'a/b%20c' });
    expect(match('/persons/:name', '/persons/%C3%A4')).to.deep.equal({ name: 'ä' });
    expect(match('/persons/:name', '/persons/ann/more')).to.equal(undefined);
    expect(match('/persons/:name', '/persons')).to.equal(undefined);
    expect(match('/persons/:name', '/people/ann')).to.equal(undefined);
  });

  it('ignores one trailing slash, and matches no path with an empty segment', () => {
    expect(match('/persons/:name', '/persons/ann/')).to.deep.equal({ name: 'ann' });
    expect(splitPath('/persons//ann')).to.equal(undefined);
    expect(splitPath('/persons/ann//')).to.equal(undefined);
    expect(splitPath(`/${'a'.repeat(2048)}`)).to.equal(undefined);
  });

  it('refuses a path with an invalid percent-encoding, or with encoded bytes that are not UTF-8', () => {
    for (const path of ['/%', '/%zz', '/%ff'])
      expect(() => splitPath(path))
        .to.throw()
        .with.property('reason', 'BadRequest');
  });

  it('returns frozen variables without a prototype', () => {
    const variables = match('/:name', '/x');
    expect(Object.isFrozen(variables)).to.equal(true);
    expect(Object.getPrototypeOf(variables)).to.equal(null);
  });

  it('is formatted with variables in braces', () => {
    expect(formatPattern(parsePattern('/persons/:name/greeting'))).to.equal('/persons/{name}/greeting');
    expect(formatPattern(parsePattern('/'))).to.equal('');
  });

  it('is refused when it is malformed, with an error that quotes the path', () => {
    for (const path of ['persons', '//', '/a//b', '/a/', '/:', '/a b', '/a%20b', '/a?b', '/{a}', '/*', '/..', '/:a-b'])
      expect(() => parsePattern(path), path).to.throw(TypeError, `"${path}"`);
    expect(() => checkVariables(parsePattern('/:a/:a'))).to.throw(TypeError, 'two variables named "a"');
  });
});
