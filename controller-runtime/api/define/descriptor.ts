import { isExtensionClass } from './abstract-extension.ts';
import { ClassComponents, schemaNameOf } from './class-components.ts';
import { makeDescriptor } from './make-descriptor.ts';
import { resourceKeys } from '../model/gvk-options.ts';
import { ModelError } from '../errors/model-error.ts';
import { readDeclaration } from './model-metadata.ts';
import type { ExtensionClass, Model, ModelDescriptor } from '../model/model.ts';
import type { ModelValidation } from '../model/model-validation.ts';
import type { ApiObject } from '../object/object.ts';
import { unknownKeyOf } from '../base/unknown-key.ts';

const gvkKeys: readonly string[] = ['group', 'version', 'kind', ...resourceKeys];

const descriptors = new WeakMap<ExtensionClass, ModelDescriptor>();

/**
 * Returns the descriptor of a model, deeply frozen. For a class, each call returns the same descriptor. The first call
 * makes the descriptor. The decorator cannot make it, because the classes to which a class refers may be declared
 * later. Names are checked at registration.
 * @throws ModelError when the class is not a model, or when the schema of a field breaks a rule; the error names the
 * class and the field.
 */
export function descriptorOf<T extends ApiObject>(model: Model<T>): ModelDescriptor<T> {
  if (typeof model !== 'function') return model;
  const known = descriptors.get(model) as ModelDescriptor<T> | undefined;
  if (known !== undefined) return known;
  const descriptor = describeClass(model);
  descriptors.set(model, descriptor);
  return descriptor;
}

function describeClass<T extends ApiObject>(cls: ExtensionClass<T>): ModelDescriptor<T> {
  const { name } = cls;
  if (!isExtensionClass(cls)) throw new ModelError(name, 'class', `the class ${name} must extend AbstractExtension`);
  const gvk = readDeclaration(cls)?.gvk;
  if (gvk === undefined) throw new ModelError(name, 'class', `the class ${name} must have the decorator @GVK`);
  const unknown = unknownKeyOf(gvk, gvkKeys);
  if (unknown !== undefined) throw new ModelError(name, '@GVK', unknown);
  const { components } = new ClassComponents(cls);
  const validate = validationOf(cls);
  return makeDescriptor<T>(gvk, { schemaName: schemaNameOf(cls), components, indexes: [], validate });
}

/**
 * Returns the method `static validate(next, previous)` of a class. The method is static, because objects are plain
 * JSON, not instances of their class.
 */
function validationOf<T extends ApiObject>(cls: ExtensionClass<T>): ModelValidation<T> | undefined {
  const validate: unknown = Reflect.get(cls, 'validate');
  if (validate === undefined) return undefined;
  if (typeof validate !== 'function') throw new ModelError(cls.name, 'validate', 'must be a static method');
  return (validate as ModelValidation<T>).bind(cls);
}
