import { expect } from 'chai';
import { parseLabels } from './labels.ts';

describe('labels that a person types', () => {
  it('are set by a value, which may be empty, and removed by a minus', () => {
    expect(parseLabels('team=red, example.com/old-,flag=')).to.deep.equal({
      team: 'red',
      'example.com/old': null,
      flag: '',
    });
    expect(parseLabels('a-b=c-d,e-f-')).to.deep.equal({ 'a-b': 'c-d', 'e-f': null });
  });

  it('are refused, with the reason, when they are wrong', () => {
    expect(parseLabels('')).to.equal('write at least one label');
    expect(parseLabels('team=red,')).to.equal('write at least one label');
    expect(parseLabels('team')).to.equal('“team” is neither name=value nor name-');
    expect(parseLabels('a=b=c')).to.equal('“a=b=c” is neither name=value nor name-');
    expect(parseLabels('=b')).to.equal('“=b” is neither name=value nor name-');
  });
});
