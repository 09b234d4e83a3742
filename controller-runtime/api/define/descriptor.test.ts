import { expect } from 'chai';
import { AbstractExtension } from './abstract-extension.ts';
import { descriptorOf } from './descriptor.ts';
import { GVK } from './gvk.ts';
import { ModelError } from '../errors/model-error.ts';
import type { ModelDescriptor } from '../model/model.ts';
import { FlatPerson, Person } from '../person.fixture.ts';
import { Schema } from './schema.ts';
import type { SchemaAttributes } from './schema-attributes.ts';

const names = { group: 'test.example.com', version: 'v1', kind: 'Thing', plural: 'things' } as const;

function describeField(attributes: SchemaAttributes): ModelDescriptor {
  @GVK(names)
  class Thing extends AbstractExtension {
    @Schema(attributes) field?: unknown;
  }
  return descriptorOf(Thing);
}

describe('descriptorOf', () => {
  it('describes the class Person of revision 2.15 of the specification, including its reference to itself [spec 2.7-spec, 2.6-description, 2.6-name]', () => {
    const { components, ...rest } = descriptorOf(Person);
    expect(rest).to.deep.equal({
      group: 'people.example.com',
      version: 'v1alpha1',
      kind: 'Person',
      plural: 'persons',
      singular: 'person',
      scope: 'Cluster',
      nameFormat: 'label',
      subresources: [],
      shortNames: [],
      categories: [],
      printerColumns: [],
      schemaName: 'Person',
      indexes: [],
    });
    expect(components).to.deep.equal({
      Person: {
        type: 'object',
        properties: {
          apiVersion: { type: 'string' },
          kind: { type: 'string' },
          metadata: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          spec: { $ref: '#/components/schemas/PersonSpec' },
          status: { $ref: '#/components/schemas/PersonStatus' },
        },
        required: ['spec'],
      },
      PersonSpec: {
        type: 'object',
        properties: {
          name: { type: 'string', maxLength: 100, description: 'Full name' },
          age: { type: 'integer', minimum: 0, maximum: 150 },
          gender: { type: 'string', enum: ['MALE', 'FEMALE'] },
          tags: { type: 'array', items: { type: 'string' } },
          otherPerson: { $ref: '#/components/schemas/Person' },
        },
      },
      PersonStatus: { type: 'object', properties: { greeting: { type: 'string' } } },
    });
  });

  it('describes a class whose fields are not in spec (revision 2.9 of the specification); its singular is the kind in lower case [spec 2.1-singular-default]', () => {
    const { components, singular } = descriptorOf(FlatPerson);
    expect(singular).to.equal('person');
    expect(components).to.have.keys('Person');
    expect(components['Person']?.properties?.['otherPerson']).to.deep.equal({ $ref: '#/components/schemas/Person' });
  });

  it('returns the same frozen descriptor at every call for a class, and returns its argument if this is a descriptor', () => {
    const descriptor = descriptorOf(Person);
    expect(descriptorOf(Person)).to.equal(descriptor);
    expect(descriptorOf(descriptor)).to.equal(descriptor);
    expect(
      [descriptor, descriptor.components['PersonSpec']?.properties].every((each) => Object.isFrozen(each)),
    ).to.equal(true);
  });

  it('gives new instances apiVersion and kind [spec 2.2-carried]', () => {
    expect(new Person()).to.include({ apiVersion: 'people.example.com/v1alpha1', kind: 'Person' });
  });

  it('takes fields from base classes; when several classes declare a field, the declaration of the most derived class counts', () => {
    abstract class Base extends AbstractExtension {
      @Schema({ type: 'string', requireMode: 'REQUIRED' }) first!: string;
      @Schema({ type: 'string' }) second = 'base';
    }
    @GVK(names)
    class Thing extends Base {
      @Schema({ type: 'string', maxLength: 5 }) override second = 'own';
      @Schema({ type: 'boolean' }) third?: boolean;
    }
    const schema = descriptorOf(Thing).components['Thing'];
    expect(Object.keys(schema?.properties ?? {}).slice(3)).to.deep.equal(['first', 'second', 'third']);
    expect(schema?.properties?.['second']?.maxLength).to.equal(5);
    expect(schema?.required).to.deep.equal(['first']);
  });

  it('does not use the GVK of a base class [spec 1-step-gvk]', () => {
    class Employee extends Person {}
    expect(() => descriptorOf(Employee)).to.throw(ModelError, 'the class Employee must have the decorator @GVK');
  });

  it('resolves classes in items, additionalProperties and inline properties', () => {
    @Schema({ description: 'A port' })
    class Port {
      @Schema({ type: 'integer', requireMode: 'REQUIRED' }) number!: number;
    }
    const port = { $ref: '#/components/schemas/Port' };
    const field = (attributes: SchemaAttributes): unknown =>
      describeField(attributes).components['Thing']?.properties?.['field'];
    expect(field({ type: 'array', items: () => Port })).to.deep.equal({ type: 'array', items: port });
    expect(field({ type: 'array', items: { type: () => Port } })).to.deep.equal({ type: 'array', items: port });
    expect(field({ type: 'object', additionalProperties: () => Port })).to.deep.equal({
      type: 'object',
      additionalProperties: port,
    });
    const properties = { port: { type: () => Port, requireMode: 'REQUIRED' } } as const;
    expect(field({ type: 'object', properties })).to.deep.equal({
      type: 'object',
      properties: { port },
      required: ['port'],
    });
    expect(field({ type: () => Port, description: 'The port' })).to.deep.equal({ ...port, description: 'The port' });
    expect(describeField({ type: () => Port }).components['Port']).to.deep.equal({
      type: 'object',
      description: 'A port',
      properties: { number: { type: 'integer' } },
      required: ['number'],
    });
  });

  it('refuses an unknown requireMode, and unknown keys of @GVK', () => {
    expect(() => describeField({ type: 'string', requireMode: 'required' as never })).to.throw(
      ModelError,
      /Thing\.field: requireMode "required" must be REQUIRED or NOT_REQUIRED/,
    );
    @GVK({ ...names, plurals: 'things' } as never)
    class Misspelt extends AbstractExtension {
      @Schema({ type: 'string' }) field!: string;
    }
    expect(() => descriptorOf(Misspelt)).to.throw(ModelError, '@GVK: unknown key "plurals". Did you mean "plural"?');
  });

  it('copies every attribute of a field into the schema', () => {
    const attributes: SchemaAttributes = {
      type: 'array',
      title: 'Ports',
      description: 'Open ports',
      items: {
        type: 'number',
        exclusiveMinimum: 0,
        exclusiveMaximum: true,
        maximum: 9,
        multipleOf: 0.5,
        nullable: true,
      },
      minItems: 1,
      maxItems: 3,
      uniqueItems: true,
      default: [1],
      example: [2],
      deprecated: true,
      'x-kubernetes-list-type': 'set',
    };
    expect(describeField(attributes).components['Thing']?.properties?.['field']).to.deep.equal(attributes);
  });

  it('refuses a class that does not extend AbstractExtension, and names it [spec 1-step-extends, 2.1-extends]', () => {
    class Loose {}
    // @ts-expect-error the compiler refuses the class, too
    expect(() => descriptorOf(Loose)).to.throw(ModelError, 'the class Loose must extend AbstractExtension');
  });

  it('refuses two classes with one schema name, and names both', () => {
    const [first, second] = ['Left', 'Right'].map((name) => {
      @Schema({ name: 'Part' })
      class Part {
        @Schema({ type: 'string' }) a?: string;
      }
      Object.defineProperty(Part, 'name', { value: name });
      return Part;
    });
    @GVK(names)
    class Thing extends AbstractExtension {
      @Schema({ type: () => first! }) a?: unknown;
      @Schema({ type: () => second! }) b?: unknown;
    }
    expect(() => descriptorOf(Thing)).to.throw(
      ModelError,
      /Thing\.b: the classes Left and Right both have the schema name "Part"/,
    );
  });

  class Bare {}
  const refused: readonly (readonly [what: string, attributes: SchemaAttributes, message: RegExp])[] = [
    ['a field without a type', {}, /Thing\.field: has no type/],
    ['a field of an array whose items have no type', { type: 'array', items: {} }, /Thing\.field\.items: has no type/],
    ['a class without @Schema', { type: () => Bare }, /Thing\.field: the class Bare has no decorator @Schema/],
    ['a class given directly', { type: Bare as never }, /Thing\.field: write the class as a function: \(\) => Bare/],
    [
      'a function that returns no class',
      { type: () => undefined as never },
      /Thing\.field: the function given as type/,
    ],
    [
      'a field that is renamed',
      { type: 'string', name: 'other' },
      /Thing\.field: the attribute "name" names the schema of a class/,
    ],
    ['an unknown type', { type: 'text' as never }, /Thing\.field: type must be one of/],
  ];
  for (const [what, attributes, message] of refused) {
    it(`refuses ${what}, and names class and field`, () => {
      expect(() => describeField(attributes)).to.throw(ModelError, message);
    });
  }

  it('refuses @Schema on the field `kind` or a static field, and decorators compiled with experimentalDecorators [spec 2.2-author-defines]', () => {
    @GVK(names)
    class Thing extends AbstractExtension {
      @Schema({ type: 'string' }) override kind = 'Thing';
    }
    expect(() => descriptorOf(Thing)).to.throw(ModelError, /Thing\.kind: is a field of every object/);
    expect(() => {
      class WithStatic {
        @Schema({ type: 'string' }) static field?: string;
      }
      return WithStatic;
    }).to.throw(TypeError, 'not the static field field');
    expect(() => Schema({ type: 'string' })({}, 'field' as never)).to.throw(TypeError, 'experimentalDecorators');
    expect(() => GVK(names)(Thing, undefined as never)).to.throw(TypeError, 'experimentalDecorators');
  });
});
