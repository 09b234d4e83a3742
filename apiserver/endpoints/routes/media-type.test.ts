import { expect } from 'chai';
import { checkMediaType, isAccepted, mediaType } from './media-type.ts';

describe('an Accept header', () => {
  const takes = (header: string | undefined): boolean => isAccepted(header, 'application/json');

  it('accepts a type by its name or by a range, and every type when the header is absent or empty', () => {
    for (const header of [
      undefined,
      '',
      '*/*',
      'application/json',
      'text/html, application/*;q=0.1',
      'APPLICATION/JSON',
    ])
      expect(takes(header), header).to.equal(true);
    for (const header of ['text/html', 'text/*', 'application/jsonx', 'x'.repeat(2000)])
      expect(takes(header), header).to.equal(false);
  });

  it('accepts or refuses a type by the most specific range that matches the type', () => {
    expect(takes('application/json;q=0, */*')).to.equal(false);
    expect(takes('*/*;q=0, application/json')).to.equal(true);
    expect(takes('application/*;q=0, */*')).to.equal(false);
    expect(takes('application/json;q=x')).to.equal(false);
  });
});

describe('a media type', () => {
  it('is read from a Content-Type header in lower case, without the parameters', () => {
    expect(mediaType('Text/HTML; charset=utf-8')).to.equal('text/html');
    expect(mediaType(undefined)).to.equal('');
  });

  it('is refused when it is malformed', () => {
    expect(checkMediaType('Application/JSON')).to.equal('application/json');
    for (const type of ['json', '*/*', 'text/*', 'a/b/c', ''])
      expect(() => checkMediaType(type), type).to.throw(TypeError);
  });
});
