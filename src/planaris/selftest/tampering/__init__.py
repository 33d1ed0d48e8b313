"""Files and proofs that are damaged, forged or hostile must be refused."""
