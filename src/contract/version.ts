// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a change of the version: the contract grows, it does not move.

export const CONTRACT_VERSION = '1.0.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'a7c24953ee14733df94f43ee1ca30e7bacf590a3c2eeb9d47c6036ff7e6037a3';
