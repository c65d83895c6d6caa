"""Tests of independence: choices, and the verb that makes one test."""
