import { expect } from 'chai';
import { eventFrame } from './event-frame.ts';

describe('a server-sent event', () => {
  it('has one line for each field, and one line for each line of its data', () => {
    expect(eventFrame({ event: 'tick', id: '7', retry: 1000, data: 'a\nb\r\nc' })).to.equal(
      'event: tick\nid: 7\nretry: 1000\ndata: a\ndata: b\ndata: c\n\n',
    );
    expect(eventFrame({ data: { a: 1 } })).to.equal('data: {"a":1}\n\n');
  });

  it('is refused when the value of a field is invalid or would start another field', () => {
    expect(() => eventFrame({ event: 'a\ndata: b', data: '' })).to.throw(TypeError, 'event');
    expect(() => eventFrame({ id: 'a\0', data: '' })).to.throw(TypeError, 'id');
    expect(() => eventFrame({ retry: 0.5, data: '' })).to.throw(TypeError, 'retry');
    expect(() => eventFrame({ data: undefined })).to.throw(TypeError, 'data');
  });
});
