import { invalidValue, takeCauses, tooLongValue } from '../errors/field-cause.ts';
import { checkLabelValue, checkQualifiedName } from './names.ts';
import type { FieldCause } from '../errors/status.ts';

/**
 * The maximum size of all annotations of an object together, including their keys. It is the limit of Kubernetes; a
 * single annotation may have any text.
 */
const maxAnnotationBytes = 256 * 1024;

/** Returns the violations in a map of labels, at most 100. Keys follow spec 2.5, values follow Kubernetes. */
export function checkLabels(labels: Readonly<Record<string, string>>, field: string): FieldCause[] {
  return takeCauses(labelCauses(labels, field));
}

/**
 * Returns the violations in a map of annotations, at most 100. Keys follow the rules of label keys, but their prefix
 * may have upper case.
 */
export function checkAnnotations(annotations: Readonly<Record<string, string>>, field: string): FieldCause[] {
  return takeCauses(annotationCauses(annotations, field));
}

function* labelCauses(labels: Readonly<Record<string, string>>, field: string): Generator<FieldCause> {
  for (const [key, value] of Object.entries(labels)) {
    for (const message of checkQualifiedName(key)) yield invalidValue(field, key, message);
    for (const message of checkLabelValue(value)) yield invalidValue(field, value, message);
  }
}

function* annotationCauses(annotations: Readonly<Record<string, string>>, field: string): Generator<FieldCause> {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    bytes += utf8Length(key) + utf8Length(value);
    // The key is checked in lower case, because common tools write annotation prefixes with capitals, and Kubernetes
    // accepts these.
    for (const message of checkQualifiedName(key.toLowerCase())) yield invalidValue(field, key, message);
  }
  if (bytes > maxAnnotationBytes) yield tooLongValue(field, maxAnnotationBytes);
}

/**
 * Returns the number of bytes of a text in UTF-8. A lone surrogate counts 3 bytes, because an encoder replaces it with
 * a replacement character of 3 bytes.
 */
function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    // Each half of a surrogate pair counts 2 bytes; together they give the 4 bytes of the character.
    bytes += unit < 0x800 || isInPair(text, index) ? 1 : 2;
  }
  return bytes;
}

function isInPair(text: string, index: number): boolean {
  const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
  const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
  const unit = text.charCodeAt(index);
  return (isHigh(unit) && isLow(text.charCodeAt(index + 1))) || (isLow(unit) && isHigh(text.charCodeAt(index - 1)));
}
