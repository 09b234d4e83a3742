import { expect } from 'chai';
import { AbstractExtension } from '../define/abstract-extension.ts';
import { checkDescriptor } from '../define/check-descriptor.ts';
import { defineModel } from '../define/define-model.ts';
import { descriptorOf } from '../define/descriptor.ts';
import { GVK } from '../define/gvk.ts';
import { Schema } from '../define/schema.ts';

const gvk = { group: 'people.example.com', version: 'v1', kind: 'Person', plural: 'persons' };
const schema = { type: 'object', properties: { age: { type: 'integer' } } } as const;

class WithRule extends AbstractExtension {
  static validate(): { field: string; message: string }[] {
    return [{ field: this.name, message: 'no' }];
  }
}

@GVK(gvk)
class Inheriting extends WithRule {
  @Schema({ type: 'integer' }) age?: number;
}

@GVK({ ...gvk, kind: 'Wrong', plural: 'wrongs' })
class Wrong extends AbstractExtension {
  static readonly validate = 'yes';
  @Schema({ type: 'integer' }) age?: number;
}

describe("a model's validate", () => {
  it('the descriptor has the property validate only when the model has a validation', () => {
    const validate = (): undefined => undefined;
    expect(defineModel({ ...gvk, schema, validate }).validate).to.equal(validate);
    expect(defineModel({ ...gvk, schema })).to.not.have.property('validate');
  });

  it('a class declares its validation as a static method, which subclasses inherit', () => {
    const { validate } = descriptorOf(Inheriting);
    expect(validate?.(new Inheriting(), undefined)).to.deep.equal([{ field: 'Inheriting', message: 'no' }]);
  });

  it('a model whose validate is not a function is refused, and the error names validate', () => {
    expect(() => descriptorOf(Wrong)).to.throw('model Wrong: validate: must be a static method');
    const descriptor = defineModel({ ...gvk, schema, validate: 7 as never });
    expect(() => checkDescriptor(descriptor, { serviceDomain: 'x.internal' })).to.throw(
      'model Person: validate: 7 must be a function',
    );
  });
});
