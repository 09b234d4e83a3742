import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { declarationStackOf } from './declaration-stack.ts';
import { defineModel } from './define-model.ts';
import type { ModelDescriptor } from '../model/model.ts';

interface Declared {
  readonly model: ModelDescriptor;
  readonly held: WeakRef<object>;
}

/** Declares a model in a function. Returns the model, and a weak reference to an object that this function uses. */
function declared(): Declared {
  const held = { plural: 'things' };
  function declaringFunction(): ModelDescriptor {
    const spec = { type: 'object', properties: { text: { type: 'string' } } } as const;
    return defineModel({
      gvk: 'a.example.com/v1/Thing',
      plural: held.plural,
      schema: { type: 'object', properties: { spec } },
    });
  }
  return { model: declaringFunction(), held: new WeakRef(held) };
}

describe('the stack of a declaration', () => {
  it('names the function, the file and the line that declared the model', () => {
    expect(declarationStackOf(declared().model)).to.match(/declaringFunction.*declaration-stack\.test\.[jt]s:\d+/);
  });

  it('does not keep objects alive that only the declaring function can reach [slow]', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const { model, held } = declared();
    // A WeakRef keeps its object alive until the current turn of the event loop ends.
    await nextTurn();
    collect();
    expect(held.deref()).to.equal(undefined);
    expect(model.kind).to.equal('Thing');
  });
});
