/**
 * A declaration that breaks a rule of registration: of a model, its schema or its indexes. `attribute` says where
 * (`group`, `plural`, or a field such as `PersonSpec.age`), `rule` what must hold there.
 */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly attribute: string;
  readonly rule: string;

  /** `model` is the name that the author knows: of the class, or the kind. */
  constructor(model: string, attribute: string, rule: string) {
    super(`model ${model}: ${attribute}: ${rule}`);
    this.attribute = attribute;
    this.rule = rule;
  }
}
