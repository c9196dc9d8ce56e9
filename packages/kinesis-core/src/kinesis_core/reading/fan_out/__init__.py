"""Reading by subscription: enhanced fan-out."""
