import { expect } from 'chai';
import * as messages from './messages.ts';

const path = 'host.ts';
const textsOf = (source: string): readonly messages.SourceText[] => messages.textsOf(source, path);

const errorsOf = (source: string): readonly (readonly [string, string])[] =>
  textsOf(source).flatMap(({ text, thrownAs }) => (thrownAs === undefined ? [] : [[thrownAs, text] as const]));

describe('The texts of a source file', () => {
  it('have an ellipsis for each part that is known only at run time', () => {
    expect(textsOf('const x = `cannot open ${path}: ${error.message}`;')).to.deep.include({
      text: 'cannot open …: …',
      path,
      within: [],
    });
  });

  it('have the field thrownAs, with the class and the code of the error, if they are the message of an error', () => {
    const source = "throw new StoreError('locked', `${name} is in use`); throw new ConfigError('no port');";
    expect(errorsOf(source)).to.deep.equal([
      ['StoreError locked', '… is in use'],
      ['ConfigError', 'no port'],
    ]);
  });

  it('include the messages of errors that are constants, conditional expressions or concatenations', () => {
    const source =
      "function f() { const text = a ? 'one ' + 'thing' : `${n} things`; { throw new ConfigError(text, {}); } }";
    expect(errorsOf(source)).to.deep.equal([
      ['ConfigError', 'one thing'],
      ['ConfigError', '… things'],
    ]);
  });

  it('are returned with the names of the functions, methods and types in which they are written', () => {
    const source = "type Reason = 'Crashed'; class Host { problem() { return 'is not ready'; } }";
    expect(textsOf(source)).to.deep.equal([
      { text: 'Crashed', path, within: ['Reason'] },
      { text: 'is not ready', path, within: ['problem'] },
    ]);
  });
});
