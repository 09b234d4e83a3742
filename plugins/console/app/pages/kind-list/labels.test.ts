import { expect } from 'chai';
import { parseLabels } from './labels.ts';

describe('parseLabels', () => {
  it('reads name=value as a label to set, and name- as a label to remove', () => {
    expect(parseLabels('team=red, example.com/old-,flag=')).to.deep.equal({
      team: 'red',
      'example.com/old': null,
      flag: '',
    });
    expect(parseLabels('a-b=c-d,e-f-')).to.deep.equal({ 'a-b': 'c-d', 'e-f': null });
  });

  it('returns an error message when the text contains an empty or a malformed label', () => {
    expect(parseLabels('')).to.equal('write at least one label');
    expect(parseLabels('team=red,')).to.equal('write at least one label');
    expect(parseLabels('team')).to.equal('“team” is neither name=value nor name-');
    expect(parseLabels('a=b=c')).to.equal('“a=b=c” is neither name=value nor name-');
    expect(parseLabels('=b')).to.equal('“=b” is neither name=value nor name-');
  });
});
