import { expect } from 'chai';
import { defineModel } from './define-model.ts';
import { descriptorOf } from './descriptor.ts';
import { AbstractExtension } from './abstract-extension.ts';
import { GVK } from './gvk.ts';
import { Schema } from './schema.ts';

const rules = [{ rule: 'self.a > 1', message: 'more than one' }] as const;
const options = { gvk: 'rules.example.com/v1/Rule', plural: 'rules' } as const;
const schema = { type: 'object', properties: { a: { type: 'integer' } } } as const;

describe('rules of models', () => {
  it('the rules of a model become rules of the schema of the whole object', () => {
    const { components } = defineModel({ ...options, schema, rules });
    expect(components['Rule']?.['x-kubernetes-validations']).to.deep.equal(rules);
  });

  it('the rules of a model come after the rules that the schema already has', () => {
    const own = { ...schema, 'x-kubernetes-validations': [{ rule: 'true' }] };
    const { components } = defineModel({ ...options, schema: own, rules });
    expect(components['Rule']?.['x-kubernetes-validations']).to.deep.equal([{ rule: 'true' }, ...rules]);
  });

  it('rules can be declared on classes and on fields', () => {
    @GVK({ group: 'rules.example.com', version: 'v1', kind: 'Rule', plural: 'rules' })
    @Schema({ rules })
    class Rule extends AbstractExtension {
      @Schema({ type: 'integer', rules: [{ rule: 'self > 1' }] })
      a?: number;
    }
    const component = descriptorOf(Rule).components['Rule'];
    expect(component?.['x-kubernetes-validations']).to.deep.equal(rules);
    expect(component?.properties?.['a']?.['x-kubernetes-validations']).to.deep.equal([{ rule: 'self > 1' }]);
  });

  const mistakes: readonly (readonly [rule: object, message: string])[] = [
    [{ rule: 'true', mesage: 'a' }, 'rules[0]: unknown key "mesage". Did you mean "message"?'],
    [{ message: 'a' }, 'rules[0]: rule must be an expression in CEL'],
    [{ rule: 'true', reason: 'Wrong' }, 'rules[0]: reason must be one of FieldValueInvalid, FieldValueForbidden'],
    [{ rule: 'true', optionalOldSelf: 'yes' }, 'rules[0]: optionalOldSelf must be true or false'],
    [{ rule: 'true', fieldPath: 1 }, 'rules[0]: message, messageExpression and fieldPath must be texts'],
  ];
  for (const [rule, message] of mistakes) {
    it(`an invalid rule is refused: ${message}`, () => {
      expect(() => defineModel({ ...options, schema, rules: [rule as { rule: string }] })).to.throw(message);
    });
  }

  it('TypeScript reports an unknown key of a rule as a type error, and defineModel refuses the rule', () => {
    // @ts-expect-error -- the key is misspelt
    expect(() => defineModel({ ...options, schema, rules: [{ rule: 'true', mesage: 'a' }] })).to.throw('message');
  });
});
