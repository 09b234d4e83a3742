import { checkDescriptor, ModelError } from '@homeostat/controller-runtime/api';
import type { FieldViolation, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { isServed } from './definition.ts';
import type { CustomResourceDefinition } from './definition.ts';
import { modelOfDefinition } from './model-of-definition.ts';

/**
 * Checks a valid definition by the rules of models. Returns a violation for the first rule that the definition breaks,
 * for example because its group belongs to the server itself.
 */
export function checkServable(definition: CustomResourceDefinition, serviceDomain: string): readonly FieldViolation[] {
  if (!isServed(definition.spec)) return [];
  const model = modelOfDefinition(definition);
  const { versions = [], served: _served, ...storage } = model;
  const [found] = [storage, ...versions.map((version) => version.model)].flatMap((each) =>
    brokenRule(definition, each, serviceDomain),
  );
  return found === undefined ? [] : [found];
}

function brokenRule(
  definition: CustomResourceDefinition,
  model: ModelDescriptor,
  serviceDomain: string,
): readonly FieldViolation[] {
  try {
    checkDescriptor(model, { serviceDomain, schemasJudged: true });
    return [];
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    const field = fieldOf(definition, model.version, error);
    return [{ field, message: `Invalid value: ${error.rule}`, reason: 'FieldValueInvalid' }];
  }
}

function fieldOf({ spec }: CustomResourceDefinition, version: string, error: ModelError): string {
  const place = `spec.versions[${spec.versions.findIndex(({ name }) => name === version)}]`;
  const { attribute } = error;
  if (attribute === 'group' || attribute === 'scope') return `spec.${attribute}`;
  if (attribute === 'version') return `${place}.name`;
  if (attribute === 'printerColumns') return `${place}.additionalPrinterColumns`;
  const isName = ['plural', 'singular', 'kind', 'shortNames', 'categories'].includes(attribute);
  return isName ? `spec.names.${attribute}` : `${place}.schema.openAPIV3Schema`;
}
