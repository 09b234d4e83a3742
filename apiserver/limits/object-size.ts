/**
 * The maximum number of bytes of an object, 1.5 MiB as in etcd: it must fit into a watch event and into a transaction.
 */
export const maxObjectBytes: number = 1.5 * 1024 * 1024;
