/** The options that `certificate` and `kubeconfig` have in common. */
interface UserFlags {
  readonly user?: string;
  readonly group?: readonly string[];
  readonly days?: string;
  readonly force: boolean;
}

/** The options of `certificate`. */
export interface CertificateCommandFlags extends UserFlags {
  readonly certOutput?: string;
  readonly keyOutput?: string;
}

/** The options of `kubeconfig`. */
export interface KubeconfigCommandFlags extends UserFlags {
  readonly serviceAccount?: string;
  readonly hours?: string;
  readonly output?: string;
  readonly name: string;
  readonly server?: string;
  readonly force: boolean;
}

/** The options of `new`. */
export interface NewCommandFlags {
  readonly kind?: string;
  readonly plural?: string;
}
